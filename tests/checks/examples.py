#!/usr/bin/env python3
"""The examples run, and the four languages compute the same."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCE, BUILD = sys.argv[1:]
DATA = "/usr/share/datasets/fashion-mnist"
PROGRAMS = {
    "c": [os.path.join(BUILD, "examples/c/fashion-mnist")],
    "vala": [os.path.join(BUILD, "examples/vala/fashion-mnist-vala")],
    "python": ["/usr/bin/python3", os.path.join(SOURCE, "examples/python/fashion-mnist.py")],
    "js": ["gjs", "-m", os.path.join(SOURCE, "examples/js/fashion-mnist.js")],
}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def train(language, precision):
    with tempfile.TemporaryDirectory() as folder:
        output = run(PROGRAMS[language] + [precision, "1", "3", DATA, "0.02"], cwd=folder)
    return dict(re.findall(r"(\w+)=(\S+)", output.splitlines()[-1]))


def same_in_all_languages(precision):
    results = {language: train(language, precision) for language in PROGRAMS}
    for result in results.values():
        result.pop("seconds")
    assert all(result == results["c"] for result in results.values()), results
    return results["c"]


def all_languages_train_alike():
    assert same_in_all_languages("32-true")["storage"] == "f32"


def the_vala_module_is_found_by_name_from_all_languages():
    result = same_in_all_languages("int4-demo")
    assert result["plugin"] == result["trainer"] == "int4-demo", result
    assert int(result["bytes"]) <= 0.2 * 4 * 1568 * 128, result


def adapters_on_a_trained_net_are_alike_in_all_languages():
    programs = {
        "c": [os.path.join(BUILD, "examples/c/lora")],
        "vala": [os.path.join(BUILD, "examples/vala/lora-vala")],
        "python": ["/usr/bin/python3", os.path.join(SOURCE, "examples/python/lora.py")],
        "js": ["gjs", "-m", os.path.join(SOURCE, "examples/js/lora.js")],
    }
    lines = {name: run(program + ["nf4", "1", "3", DATA, "0.02", "1"]).splitlines()[-1] for name, program in programs.items()}
    assert len(set(lines.values())) == 1, lines
    result = dict(re.findall(r"(\w+)=(\S+)", lines["c"]))
    assert result["storage"] == "nf4" and int(result["bytes"]) <= 0.15 * int(result["of"]), result
    assert float(result["trained"]) > 0.3 and float(result["tuned"]) > 0.3, result


def python_program_brings_its_own_precision():
    assert "trainer=python-int4 storage=python-int4 bytes=1280 of 8192" in run(
        ["/usr/bin/python3", os.path.join(SOURCE, "examples/python/int4-plugin.py")])


def js_program_brings_its_own_precision():
    assert "trainer=js-int4 storage=js-int4 bytes=1280 of 8192" in run(
        ["gjs", "-m", os.path.join(SOURCE, "examples/js/int4-plugin.js")])


def an_unknown_precision_lists_near_names():
    done = subprocess.run(PROGRAMS["c"] + ["16-mixd"], capture_output=True, text=True, check=False)
    near = re.search(r"did you mean (.*)Known", done.stderr, re.DOTALL)
    assert done.returncode == 1 and near and re.search(r"(?<![\w-])16-mixed(?![\w-])", near.group(1)), done


def lp(*arguments):
    return run([os.path.join(BUILD, "lp/cli/lp"), *arguments])


def the_program_lists_precisions():
    names = {entry["name"]: entry for entry in json.loads(lp("precisions", "--json"))}
    assert {"32-true", "64-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed", "int4-demo"} <= set(names), names
    assert names["int4-demo"]["origin"].endswith("lp-precision-int4-demo.so"), names
    assert re.match(r"(bf16-mixed|32-true) is the fastest precision that trains safely on cpu", names["auto"]["reasons"][0]), names
    text = lp("precisions")
    assert text.splitlines()[0].split() == ["NAME", "ALIASES", "ORIGIN", "DESCRIPTION"]
    assert f"auto: {names['auto']['reasons'][0]}" in text, text


def the_program_shows_one_precision():
    shown = json.loads(lp("precisions", "bf16", "--json"))
    assert shown["name"] == "bf16-mixed" and shown["compute"] == "bf16" and shown["storage"] == "f32", shown
    traits = {name: [json.loads(lp("precisions", name, "--json"))[what] for what in ("storage", "compute", "gradient", "master", "reduce")]
              for name in ("apex-O2", "apex-O3", "int8-training")}
    assert traits == {"apex-O2": ["f16", "f16", "f32", "f32", "f32"], "apex-O3": ["f16"] * 5,
                      "int8-training": ["f32", "i8", "f32", "f32", "f32"]}, traits
    assert json.loads(lp("precisions", "nf4", "--json"))["property ignore-modules"] is None
    assert shown["moments"] == "f32", shown
    assert json.loads(lp("precisions", "16-true", "--json"))["moments"] == "bf16"
    assert "LpMixedPrecisionPlugin < LpPrecisionPlugin < GObject" in lp("precisions", "16-mixed")


def the_program_lists_devices_and_its_version():
    assert json.loads(lp("devices", "--json"))[0]["name"] == "cpu"
    assert re.fullmatch(r"lp \d+\.\d+\.\d+\n", lp("version"))


CHECKS = [an_unknown_precision_lists_near_names, the_program_lists_precisions, the_program_shows_one_precision,
          the_program_lists_devices_and_its_version, python_program_brings_its_own_precision]
if shutil.which("gjs"):
    CHECKS.append(js_program_brings_its_own_precision)
if os.path.isdir(DATA):
    CHECKS += [all_languages_train_alike, the_vala_module_is_found_by_name_from_all_languages,
               adapters_on_a_trained_net_are_alike_in_all_languages]
tap.run(CHECKS)
