#!/usr/bin/env python3
# timeout 600
"""The labelled programs of this folder on the simulated GPU: what label.h says must be found is found, and nothing else.

    test_labelled.py [--blind] [--once]     --blind: the programs of blind/, written without knowing the detector

A program gets three runs (--once: one) to come out as it says: how long something took is the machine's affair."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
BLIND = "--blind" in sys.argv
RUNS = 1 if "--once" in sys.argv else 3

sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import labels # noqa: E402


def report(command, snapshot):
    run = subprocess.run([os.path.join(BUILD, "gpushim-report"), command, "--json", snapshot], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError("gpushim-report %s: %s" % (command, run.stderr.strip()))
    return json.loads(run.stdout)


def function_of(place):
    """place+0x1234 in program"""
    return place.split("+")[0]


def found_by(path, source):
    conf = "".join("," + text for text in re.findall(r"\* settings: (\S+)", source))
    policy = [word for text in re.findall(r"\* policy: ([\w-]+)", source) for word in ("--policy", text)]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([os.path.join(TOP, "scripts/sim-run"), "--build", BUILD, *policy, path], capture_output=True, text=True,
                             env={**os.environ, "GPUSHIM_ALLOC_CONF": "snapshot_dir:%s%s" % (folder, conf)})
        snapshots = glob.glob(os.path.join(folder, "gpushim.*.json"))
        if run.returncode != 0 or len(snapshots) != 1:
            raise RuntimeError("status %d, %d snapshots: %s" % (run.returncode, len(snapshots), run.stderr.strip()[-300:]))
        sync = report("sync", snapshots[0])
    found = {("finds" if finding["problem"] else "normal", finding["kind"], function_of(finding["place"]))
             for finding in sync["findings"]}
    return found | {("hazard", hazard["kind"], function_of(hazard["place"])) for hazard in sync.get("hazards", [])}


def wrong(path, source):
    """What is wrong with the findings, in lines."""
    try:
        return labels.judge(labels.of_c(source, False), found_by(path, source))
    except RuntimeError as error:
        return [str(error)]


def main():
    folder = "tests/labelled/blind" if BLIND else "tests/labelled"
    sources = sorted(glob.glob(os.path.join(TOP, folder, "rt_*.c")) + glob.glob(os.path.join(TOP, folder, "drv_*.c")))
    failed = 0
    for number, source_path in enumerate(sources, 1):
        name = os.path.basename(source_path)[:-2]
        with open(source_path) as file:
            source = file.read()
        for _ in range(RUNS):
            lines = wrong(os.path.join(BUILD, folder, name), source)
            if not lines:
                break
        failed += bool(lines)
        print("%sok %d - %s" % ("not " if lines else "", number, source.split("\n", 1)[0].strip("/* .")))
        for line in lines:
            print("# %s: %s" % (name, line))
    print("1..%d" % len(sources))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
