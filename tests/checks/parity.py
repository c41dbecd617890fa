#!/usr/bin/env python3
"""Every test that doc/lightning-parity.md names exists."""

import os
import re
import subprocess
import sys

import tap

SOURCE, BUILD = sys.argv[1:3]
ARGUMENTS = {"refusals/test-refusals.c": "refusals/refusals.json", "bindings/contract.c": "bindings/contract.txt"}
PROGRAMS = {"bindings/contract.c": "bindings/contract-c"}


def named():
    """File and test, as often as the page has them."""
    with open(os.path.join(SOURCE, "doc", "lightning-parity.md"), encoding="utf-8") as page:
        return re.findall(r"`([\w/-]+\.(?:c|txt))` `([^`]+)`", page.read())


def list_tests(file):
    """All tests of a program, or all lines of the contract."""
    if file.endswith(".txt"):
        with open(os.path.join(SOURCE, "tests", file), encoding="utf-8") as contract:
            return {re.sub(r"^\[.*?\] ", "", line.strip()) for line in contract}
    command = [os.path.join(BUILD, "tests", PROGRAMS.get(file, os.path.splitext(file)[0])), "-l"]
    if file in ARGUMENTS:
        command.insert(1, os.path.join(SOURCE, "tests", ARGUMENTS[file]))
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line for line in listed.splitlines() if line.startswith("/")}


def every_test_exists():
    tests = {file: list_tests(file) for file in {file for file, _ in named()}}
    assert len(named()) > 100, named()
    missing = [(file, name) for file, name in named()
               if name not in tests[file] and not any(test.startswith(name + "/") for test in tests[file])]
    assert not missing, missing


def every_row_says_something():
    with open(os.path.join(SOURCE, "doc", "lightning-parity.md"), encoding="utf-8") as page:
        empty = [line for line in page if line.startswith("|") and re.search(r"\|\s*\|\s*$", line)]
    assert not empty, empty


tap.run([every_test_exists, every_row_says_something])
