#!/usr/bin/env python3
"""The programs in the guides build, run, and print what the guide says, in every language."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import tap

SOURCE, BUILD = sys.argv[1:]
GUIDE = os.path.join(SOURCE, "doc", "write-your-own-precision.md")
WORK = tempfile.mkdtemp()
STEPS = range(1, 8)


def sections():
    """Text of the guide by the number of the step."""
    with open(GUIDE, encoding="utf-8") as file:
        parts = re.split(r"^## ", file.read(), flags=re.MULTILINE)
    return {int(part[0]) if part[0].isdigit() else part.splitlines()[0]: part for part in parts}


SECTIONS = sections()


def write_programs():
    """Writes every named block to its file; a block of code without a name is a mistake in the guide."""
    text = "".join(SECTIONS.values())
    blocks = re.findall(r"\*\*, `([\w.]+)`\n\n```(?:vala|python|js|c)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == len(re.findall(r"^```(?:vala|python|js|c)$", text, re.MULTILINE)), [name for name, _ in blocks]
    for name, code in blocks:
        with open(os.path.join(WORK, name), "w", encoding="utf-8") as file:
            file.write(code)


def environment():
    """Where valac, pkg-config and the programs find a library that isn't installed."""
    data = os.path.join(WORK, "data", "vala", "vapi")
    os.makedirs(data, exist_ok=True)
    for name in ("introspection/lp-1.vapi", "meson-private/lp-1.deps"):
        shutil.copy(os.path.join(BUILD, name), data)
    uninstalled = os.path.join(BUILD, "meson-uninstalled", "lp-1-uninstalled.pc")
    # valac asks for the file by its path, so a copy with the installed name serves both
    shutil.copy(uninstalled, os.path.join(WORK, "lp-1.pc"))
    first = {"PKG_CONFIG_PATH": WORK, "LD_LIBRARY_PATH": os.path.join(BUILD, "lp"), "PATH": os.path.join(BUILD, "lp", "cli"),
             "XDG_DATA_DIRS": os.path.join(WORK, "data")}
    default = {"XDG_DATA_DIRS": "/usr/local/share:/usr/share"}
    joined = {name: os.pathsep.join(filter(None, [path, os.environ.get(name, default.get(name))])) for name, path in first.items()}
    return dict(os.environ, LC_ALL="C.UTF-8", CFLAGS="-O0 -w", **joined)


def run(command, may_fail=False):
    done = subprocess.run(command, cwd=WORK, env=environment(), capture_output=True, text=True, check=False)
    assert may_fail or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def run_vala(step):
    sources = ["tryout.vala", f"step{step}.vala"] + (["int4.vala"] if step >= 4 else [])
    run(["valac", "--pkg", "lp-1", "-X", "-lm", "-X", "-w", "-X", "-O0", *sources, "-o", f"vala{step}"])
    return run([f"./vala{step}"], step == 5)


def run_c(step):
    run(["sh", "-c", f"cc -Wall -Werror -Wno-unused-function step{step}.c $(pkg-config --cflags --libs lp-1) -lm -o c{step}"])
    return run([f"./c{step}"], step == 5)


RUN = {
    "vala": run_vala,
    "python": lambda step: run(["/usr/bin/python3", f"step{step}.py"]),
    "js": lambda step: run(["gjs", "-m", f"step{step}.js"]),
    "c": run_c,
}


def check(language, step):
    """That a step prints what the guide says."""
    says = re.search(r"^All four print\n\n```text\n(.*?)^```", SECTIONS[step], re.MULTILINE | re.DOTALL).group(1)
    printed = RUN[language](step)
    assert printed == says, f"step {step} in {language} prints\n{printed}and the guide says\n{says}"


def check_language(language):
    def check_all():
        for step in STEPS:
            check(language, step)

    check_all.__name__ = f"steps_in_{language}_print_what_the_guide_says"
    return check_all


def modules_are_found_by_name():
    shell = re.findall(r"^```sh\n(.*?)^```", SECTIONS[7], re.MULTILINE | re.DOTALL)
    shown = run(["sh", "-ec", shell[-1]])
    names = re.findall(r'"name" : "(.*?)"', shown)
    assert names == ["int4-vala", "int4-c"], shown


def rows(heading):
    """{first cell: other cells} of the tables under a heading of the other guide; the names of precisions stand in backquotes."""
    with open(os.path.join(SOURCE, "doc", "which-precision.md"), encoding="utf-8") as file:
        section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", file.read(), re.MULTILINE | re.DOTALL).group(1)
    cells = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")]
    return {row[0]: row[1:] for row in cells}


def figures(*names):
    result = {}
    for name in names:
        with open(os.path.join(SOURCE, "tests", "bench", "results", name), encoding="utf-8") as file:
            result.update({figure["name"]: figure for figure in json.load(file)["figures"]})
    return result


def tables_hold_what_was_measured():
    accuracy = figures("accuracy.json", "accuracy-lora.json")
    for name, says in rows("Accuracy").items():
        figure = accuracy[f"accuracy {name}"]
        measured = [f"{figure['value']:.2f}", f"{figure['difference']:+.2f}", f"{figure['standard_error']:.2f}"]
        measured += [f"{statistics.mean(figure[key]):.2f}" for key in ("trained", "stored") if key in figure]
        assert says == measured, (name, says, measured)
    steps = figures("precisions.json")
    for name, says in rows("Memory and time").items():
        step = steps[f"precisions: step of {name}"]
        memory = [steps[f"precisions: {what} at most in a step of {name}"] for what in ("tensors", "resident")]
        measured = [text for figure in memory for text in (f"{figure['value'] / 1e6:.0f}", f"{figure['ratio']:.2f}")]
        measured += [f"{step['value']:.0f}", f"{step['ratio']:.2f}"]
        assert says == measured, (name, says, measured)


try:
    write_programs()
    languages = [language for language in RUN if language != "js" or shutil.which("gjs")]
    tap.run([check_language(language) for language in languages] +
            [modules_are_found_by_name, tables_hold_what_was_measured])
finally:
    shutil.rmtree(WORK)
