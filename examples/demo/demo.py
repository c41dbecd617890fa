#!/usr/bin/env python3
"""Trains Fashion-MNIST once per precision and shows what came of it.

The training is the C example; the 4-bit precision comes from the Vala module, which the example finds by name. Writes
demo/curves.csv and demo/curves.svg.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import time

PRECISIONS = ["32-true", "64-true", "bf16-mixed", "16-mixed", "bf16-true", "int4-demo"]
COLOURS = ["#1b5e9e", "#6b6b6b", "#c0392b", "#e08e0b", "#2e8b57", "#7d3c98", "#00838f", "#ad1457", "#5d4037"]
COLUMNS = [("precision", 26), ("plugin says", 26), ("trainer says", 26), ("weights stored as", 18), ("bytes", 8),
           ("accuracy", 9), ("s/epoch", 8), ("peak memory", 11)]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./bootstrap demo", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="/usr/share/datasets/fashion-mnist", help="where the IDX files are")
    parser.add_argument("--quick", action="store_true", help="about a minute's worth")
    parser.add_argument("--all", action="store_true", help="every precision that the registry knows")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--output", default="demo", help="where the curves go")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(__file__), "..", "..", "build"))
    return parser.parse_args()


def environment(arguments):
    """That in which the module of the example is found."""
    modules = os.path.abspath(os.path.join(arguments.build, "examples", "vala"))
    return dict(os.environ, LP_MODULE_PATH=os.pathsep.join(filter(None, [modules, os.environ.get("LP_MODULE_PATH")])))


def all_precisions(arguments):
    """The registry's names, but for the one that stands for another."""
    program = os.path.abspath(os.path.join(arguments.build, "lp", "cli", "lp"))
    listed = json.loads(subprocess.check_output([program, "precisions", "--json"], env=environment(arguments)))
    return [entry["name"] for entry in listed if entry["name"] != "auto" and not entry["problem"]]


def train(precision, arguments):
    """Runs the example in a process of its own; returns its closing figures and the peak memory in MiB."""
    program = os.path.abspath(os.path.join(arguments.build, "examples", "c", "fashion-mnist"))
    epochs, part = (1, "0.1") if arguments.quick else (arguments.epochs, "1")
    command = [program, precision, str(epochs), "1", os.path.abspath(arguments.folder), part]

    process = subprocess.Popen(command, cwd=arguments.output, env=environment(arguments), stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"demo: {precision} failed")
    figures = dict(re.findall(r"(\w+)=(\S+)", output.splitlines()[-1]))
    return figures, usage.ru_maxrss / 1024


def newest_metrics(precision, output):
    """The newest metrics.csv that the run of a precision left."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(output, "fashion-mnist"))
             for name in names if name == "metrics.csv" and precision in folder]
    return max(found, key=os.path.getmtime)


def read_curve(path):
    """[(epoch, loss, accuracy)] of a metrics.csv, whose rows hold some of the values each."""
    epochs = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = epochs.setdefault(int(row["epoch"]), {})
            values.update({key: float(row[key]) for key in ("loss", "accuracy") if row.get(key)})
    return [(epoch + 1, values.get("loss"), values.get("accuracy")) for epoch, values in sorted(epochs.items())
            if "accuracy" in values]


def write_csv(curves, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["precision", "epoch", "loss", "accuracy"])
        for precision, curve in curves.items():
            writer.writerows([precision, *point] for point in curve)


def write_svg(curves, path):
    """Validation accuracy by epoch, one line per precision."""
    width, height, left, bottom, top = 640, 400, 60, 40, 20
    points = [point for curve in curves.values() for point in curve]
    low = min(point[2] for point in points) - 0.005
    high = max(point[2] for point in points) + 0.005
    last = max(point[0] for point in points)

    def place(epoch, accuracy):
        x = left + (width - left - 150) * (epoch - 1) / max(last - 1, 1)
        y = height - bottom - (height - bottom - top) * (accuracy - low) / (high - low)
        return f"{x:.1f},{y:.1f}"

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i in range(5):
        value = low + (high - low) * i / 4
        x, y = place(1, value).split(",")
        lines.append(f'<line x1="{x}" y1="{y}" x2="{width - 150}" y2="{y}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y}" text-anchor="end" dy="4">{100 * value:.1f}</text>')
    for epoch in range(1, last + 1):
        x = place(epoch, low).split(",")[0]
        lines.append(f'<text x="{x}" y="{height - bottom + 18}" text-anchor="middle">{epoch}</text>')
    for i, (precision, curve) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        path_points = " ".join(place(epoch, accuracy) for epoch, _, accuracy in curve)
        lines.append(f'<polyline points="{path_points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="3" fill="{colour}"/>' for p in path_points.split()]
        lines.append(f'<text x="{width - 140}" y="{top + 20 + 20 * i}" fill="{colour}">{precision}</text>')
    lines.append(f'<text x="{left}" y="14">validation accuracy (%) by epoch</text></svg>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def print_row(values):
    print("  ".join(str(value).ljust(width) for value, (_, width) in zip(values, COLUMNS)).rstrip(), flush=True)


def main():
    arguments = parse_arguments()
    started = time.monotonic()
    os.makedirs(arguments.output, exist_ok=True)
    curves, rows = {}, []
    for precision in all_precisions(arguments) if arguments.all else PRECISIONS:
        figures, memory = train(precision, arguments)
        curves[precision] = read_curve(newest_metrics(precision, arguments.output))
        rows.append([precision, figures["plugin"], figures["trainer"], figures["storage"], figures["bytes"],
                     f"{100 * float(figures['accuracy']):.2f} %", figures["seconds"], f"{memory:.0f} MiB"])

    print()
    print_row([name for name, _ in COLUMNS])
    for row in rows:
        print_row(row)
    if arguments.all:
        print("\nnf4, fp4 and int8 freeze the weights of linear layers: here only the others learn; they are meant for adapters on a "
              "trained net.")
    write_csv(curves, os.path.join(arguments.output, "curves.csv"))
    write_svg(curves, os.path.join(arguments.output, "curves.svg"))
    print(f"\nCurves: {arguments.output}/curves.csv and {arguments.output}/curves.svg. "
          f"All of it took {time.monotonic() - started:.0f} s.")


main()
