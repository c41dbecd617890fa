"""A few lines of TAP for checks written in Python."""

import sys
import traceback


def run(checks):
    """Runs the functions in @checks; a check fails by raising."""
    failed = 0
    print(f"1..{len(checks)}")
    for number, check in enumerate(checks, 1):
        try:
            check()
            print(f"ok {number} {check.__name__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} {check.__name__}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    sys.exit(1 if failed else 0)
