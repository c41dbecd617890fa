#!/usr/bin/env python3
"""Counts the subtests in meson's JSON log and prints one closing line."""

import json
import re
import sys


def count(entry):
    """(passed, failed, skipped) of one test program."""
    passed = failed = skipped = 0
    for line in entry.get("stdout", "").splitlines():
        match = re.match(r"\s*(not )?ok\b(.*)", line)
        if not match:
            continue
        if re.search(r"#\s*SKIP", match.group(2), re.IGNORECASE):
            skipped += 1
        elif match.group(1):
            failed += 1
        else:
            passed += 1
    if passed + failed + skipped == 0:
        # not TAP: the program is one test
        result = entry["result"]
        return (result == "OK", result not in ("OK", "SKIP"), result == "SKIP")
    if failed == 0 and entry["result"] not in ("OK", "SKIP"):
        failed = 1   # crashed or timed out between subtests
    return passed, failed, skipped


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        counts = [count(json.loads(line)) for line in log if line.strip()]
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


main()
