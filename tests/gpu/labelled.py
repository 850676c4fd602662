#!/usr/bin/env python3
"""Findings of waits against labels: each program of tests/gpu/labelled/ says at its lines what must be found there
(`# finds: KIND`); nothing else may be called a problem.

    labelled.py [NAME..]     some of the programs; without a name all

Needs PyTorch, a GPU and build/. Prints one line for each program that is wrong, then the counts; status 1 if one is."""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "labelled")
BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build")
HELPERS = {"work"}
AT_ONCE = 6


def labels(path):
    with open(path) as file:
        return {(number, kind) for number, line in enumerate(file, 1)
                for kind in re.findall(r"# finds: ([\w-]+)", line)}


def findings(path, folder):
    """(line, kind) of each problem that gpushim names in the program; elsewhere, the place instead of the line."""
    run = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True, timeout=300, env={
        **os.environ, "LD_PRELOAD": os.path.join(BUILD, "libgpushim.so"),
        "GPUSHIM_ALLOC_CONF": f"snapshot_dir:{folder}"})
    if run.returncode != 0:
        raise RuntimeError(f"status {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
    snapshots = glob.glob(os.path.join(folder, "gpushim.*.json"))
    report = subprocess.run([os.path.join(BUILD, "gpushim-report"), "sync", "--json", *snapshots], capture_output=True,
                            text=True, check=True)
    found = {}
    for finding in json.loads(report.stdout)["findings"]:
        if not finding["problem"]:
            continue
        place = re.search(r"labelled/%s:(\d+) in " % re.escape(os.path.basename(path)), finding["place"])
        found[(int(place.group(1)) if place else finding["place"], finding["kind"])] = finding
    return found


def describe(finding):
    return "%d times, %.0f us each, %s" % (finding["calls"], finding["host_ns"] / 1000 / max(finding["calls"], 1),
                                           finding["functions"])


def check(path):
    """What is wrong with the findings of one program, in lines."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = findings(path, folder)
        except (RuntimeError, OSError, subprocess.SubprocessError, ValueError) as error:
            return ["could not be judged: %s" % error]
    wanted = labels(path)
    return (["missed: line %s, %s" % key for key in sorted(wanted - set(found))] +
            ["false: line %s, %s (%s)" % (*key, describe(finding)) for key, finding in found.items()
             if key not in wanted])


def main():
    names = sys.argv[1:] or sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(FOLDER, "*.py")))
    names = [name for name in names if name not in HELPERS]
    paths = [os.path.join(FOLDER, name + ".py") for name in names]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = dict(zip(names, pool.map(check, paths)))
    for name, lines in wrong.items():
        for line in lines:
            print("%-20s %s" % (name, line))
    right = sum(not lines for lines in wrong.values())
    print("%d programs, %d labels: %d right, %d wrong" %
          (len(names), sum(len(labels(path)) for path in paths), right, len(names) - right))
    return int(right < len(names))


if __name__ == "__main__":
    sys.exit(main())
