#!/usr/bin/env python3
"""The rules that the source keeps: layers point down, public headers are complete, what is public is documented."""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

import tap

SOURCE, GIR = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
LAYERS = ["core", "tensor", "cpu", "autograd", "ops", "parallel", "nn", "optim", "data", "metrics", "precision", "trainer",
          "cli"]
NAMESPACES = {"core": "http://www.gtk.org/introspection/core/1.0", "c": "http://www.gtk.org/introspection/c/1.0",
              "glib": "http://www.gtk.org/introspection/glib/1.0"}


def files(*endings):
    for layer in LAYERS:
        for folder, _, names in os.walk(os.path.join(SOURCE, "lp", layer)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield layer, os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def included_layers(path):
    """The layers whose headers a file includes, however it spells that."""
    return [layer for layer in re.findall(r'#\s*include\s+[<"](?:\.\./)*(?:lp/)?(\w+)/', read(path)) if layer in LAYERS]


def layers_point_down():
    upward = []
    for layer, path in files(".c", ".h"):
        for included in included_layers(path):
            if LAYERS.index(included) > LAYERS.index(layer):
                upward.append(f"{path} includes lp/{included}")
    assert not upward, upward


def cpu_is_reached_through_the_device():
    outside = [path for layer, path in files(".c", ".h") if layer != "cpu" and "cpu" in included_layers(path)]
    assert not outside, outside


def umbrella_header_is_complete():
    umbrella = set(re.findall(r"#include <(lp/[\w/-]+\.h)>", read(os.path.join(SOURCE, "lp", "lp.h"))))
    public = {os.path.relpath(path, SOURCE) for _, path in files(".h") if re.search(r"Only <lp/lp.h>", read(path))}
    assert umbrella <= public, umbrella - public
    reached = set(umbrella)
    for header in umbrella:
        reached |= set(re.findall(r"#include <(lp/[\w/-]+\.h)>", read(os.path.join(SOURCE, header))))
    assert public <= reached | {"lp/core/lp-version.h"}, public - reached


def public_headers_include_no_private_ones():
    bad = [path for _, path in files(".h") if re.search(r"Only <lp/lp.h>", read(path)) and "-private.h>" in read(path)]
    assert not bad, bad


def public_functions_say_since_when():
    bad = []
    for _, path in files(".h"):
        if "Only <lp/lp.h>" not in read(path):
            continue
        before = ""
        for line in read(path).splitlines():
            match = re.match(r"(?!typedef|static|#)[A-Za-z].*?\b(lp_\w+) +\(", line)
            if match and "LP_AVAILABLE_IN" not in before + line and not line.startswith("G_D"):
                bad.append(f"{path}: {match.group(1)}")
            if line.startswith("G_DECLARE") and "LP_AVAILABLE_IN" not in before:
                bad.append(f"{path}: {line}")
            before = line
    assert not bad, bad


def no_message_of_a_plugin_mentions_the_trainer():
    bad = [f"{path}: {text}" for layer, path in files(".c") if layer == "precision"
           for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL)) if re.search("(?i)trainer", text)]
    assert not bad, bad


def tests_make_folders_in_one_place():
    bad = [path for folder, _, names in os.walk(os.path.join(SOURCE, "tests")) for path in (os.path.join(folder, name) for name in names)
           if path.endswith((".c", ".h")) and not path.endswith("/test-folder.h") and re.search(r"make_tmp|mkdtemp", read(path))]
    assert not bad, bad


def gir():
    return ElementTree.parse(GIR).getroot()


def everything_public_is_documented():
    bad = [node.get("{%s}identifier" % NAMESPACES["c"]) for kind in ("function", "method", "constructor")
           for node in gir().iter("{%s}%s" % (NAMESPACES["core"], kind))
           if node.find("core:doc", NAMESPACES) is None and not node.get("moved-to")]
    bad = [name for name in bad if name and not name.endswith(("_get_type", "_quark"))]
    bad += [node.get("name") for kind in ("class", "enumeration", "bitfield", "member", "constant", "property", "virtual-method")
            for node in gir().iter("{%s}%s" % (NAMESPACES["core"], kind)) if node.find("core:doc", NAMESPACES) is None]
    bad += [node.get("name") for node in gir().iter("{%s}signal" % NAMESPACES["glib"])
            if node.find("core:doc", NAMESPACES) is None]
    assert not bad, bad


def virtual_functions_can_be_overridden_everywhere():
    root = gir()
    enums = {node.get("name") for tag in ("enumeration", "bitfield") for node in root.iter("{%s}%s" % (NAMESPACES["core"], tag))}
    plain = {"none", "gboolean", "gint", "guint", "gint64", "gdouble", "GType"}
    callbacks = {node.get("name") for node in root.find("core:namespace", NAMESPACES).findall("core:callback", NAMESPACES)}
    bad = []
    for owner in root.iter("{%s}class" % NAMESPACES["core"]):
        for method in owner.findall("core:virtual-method", NAMESPACES):
            name = f"{owner.get('name')}.{method.get('name')}"
            if method.get("introspectable") == "0":
                bad.append(f"{name} is not introspectable")
            for parameter in method.iter("{%s}parameter" % NAMESPACES["core"]):
                kind = parameter.find("core:type", NAMESPACES)
                if parameter.get("direction") in ("out", "inout"):
                    bad.append(f"{name}: {parameter.get('name')} is {parameter.get('direction')}")
                if kind is not None and kind.get("name") in callbacks | {"GObject.Closure"}:
                    bad.append(f"{name}: {parameter.get('name')} is a callback")
                if kind is None and parameter.find("core:array", NAMESPACES).get("name") != "GLib.PtrArray":
                    bad.append(f"{name}: {parameter.get('name')} is a C array")
            returned = method.find("core:return-value", NAMESPACES)
            kind = returned.find("core:type", NAMESPACES)
            kind = kind.get("name") if kind is not None else "array"
            if returned.get("transfer-ownership") == "none" and kind not in plain | enums:
                bad.append(f"{name} returns a borrowed {kind}")
    assert not bad, bad


CHECKS = [layers_point_down, cpu_is_reached_through_the_device, umbrella_header_is_complete,
          public_headers_include_no_private_ones, public_functions_say_since_when,
          no_message_of_a_plugin_mentions_the_trainer, tests_make_folders_in_one_place]
if GIR:
    CHECKS += [everything_public_is_documented, virtual_functions_can_be_overridden_everywhere]
tap.run(CHECKS)
