#!/usr/bin/env python3
"""What is installed is enough: programs and modules outside the tree build against it and run."""

import os
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCE, BUILD, PREFIX = sys.argv[1:]

C_PROGRAM = """
#include <lp/lp.h>
int main (void) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTrainer) trainer = lp_trainer_new ("bf16", &error);
  g_autofree char *precision = trainer ? lp_trainer_dup_precision (trainer) : NULL;
  g_print ("%s\\n", precision ? precision : error->message);
  return precision == NULL;
}
"""

VALA_PROGRAM = """
int main (string[] args) {
    try {
        print ("%s\\n", Lp.PrecisionRegistry.get_default ().create (args[1], null).get_type ().name ());
        return 0;
    } catch (Error error) {
        printerr ("%s\\n", error.message);
        return 1;
    }
}
"""

WORK = tempfile.mkdtemp()
ROOT = os.path.join(WORK, "root")
INSTALLED = ROOT + PREFIX


def find(name):
    return next(folder for folder, _, names in os.walk(INSTALLED) if name in names)


def run(*command, **environment):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def pkg_config_environment():
    # the files say PREFIX; they lie below ROOT
    return {"PKG_CONFIG_PATH": find("lp-1.pc"), "PKG_CONFIG_SYSROOT_DIR": ""}


def flags():
    words = run("pkg-config", "--cflags", "--libs", "lp-1", **pkg_config_environment()).split()
    return [word.replace(PREFIX, INSTALLED) for word in words]


def runtime():
    return {"LD_LIBRARY_PATH": find("liblp-1.so"), "GI_TYPELIB_PATH": find("Lp-1.typelib")}


def installs():
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", DESTDIR=ROOT)
    for name in ("lp-1.pc", "Lp-1.gir", "Lp-1.typelib", "lp-1.vapi", "lp", "lp.h", "_precision.py"):
        find(name)


def c_program_builds_with_pkg_config():
    with open(os.path.join(WORK, "program.c"), "w", encoding="utf-8") as file:
        file.write(C_PROGRAM)
    libdir = find("liblp-1.so")
    run("gcc", "-Wall", "-Werror", "program.c", "-o", "program", *flags(), f"-Wl,-rpath-link,{libdir}")
    assert run("./program", **runtime()) == "bf16-mixed\n"


def vala_program_and_module_build_outside_the_tree():
    with open(os.path.join(WORK, "program.vala"), "w", encoding="utf-8") as file:
        file.write(VALA_PROGRAM)
    libdir = find("liblp-1.so")
    common = ["valac", "--vapidir", find("lp-1.vapi"), "--pkg", "lp-1", "-X", "-w", "-X", "-lm", "-X",
              f"-Wl,-rpath-link,{libdir}"]
    for flag in flags():
        common += ["-X", flag]
    # valac asks pkg-config as well, which finds the file by its path
    environment = pkg_config_environment()
    run(*common, "program.vala", "-o", "vala-program", **environment)
    os.makedirs(os.path.join(WORK, "modules"), exist_ok=True)
    run(*common, "--library=int4", "-X", "-shared", "-X", "-fPIC", os.path.join(SOURCE, "examples/vala/int4-plugin.vala"),
        "-o", "modules/lp-precision-int4-demo.so", **environment)
    shown = run("./vala-program", "int4-demo", LP_MODULE_PATH=os.path.join(WORK, "modules"), **runtime())
    assert shown == "Int4Plugin\n", shown


def installed_library_works_from_python():
    shown = run("/usr/bin/python3", "-c", "import gi; gi.require_version('Lp', '1'); from gi.repository import Lp; "
                "print(Lp.Trainer(precision='64').props.precision)",
                PYTHONPATH=os.path.dirname(os.path.dirname(os.path.dirname(find("_precision.py")))), **runtime())
    assert shown == "64-true\n", shown


try:
    tap.run([installs, c_program_builds_with_pkg_config, vala_program_and_module_build_outside_the_tree,
             installed_library_works_from_python])
finally:
    shutil.rmtree(WORK)
