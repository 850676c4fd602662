#!/usr/bin/env python3
# timeout 600
"""The labelled programs of this folder and of blind/ on the simulated GPU: what they say must be found is found, and nothing else.

    test_labelled.py [--blind] [--once] [NAME..]     NAMEs: only these programs; --blind: only those of blind/, which were written without knowing the detector
    test_labelled.py --gpu                  those on a real GPU; the others need simulated kernels

A program gets three runs (--once: one) to come out as it says: how long something took is the machine's affair."""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
GPU = "--gpu" in sys.argv
BLIND = GPU or "--blind" in sys.argv
AT_ONCE = 2
RUNS = 1 if "--once" in sys.argv else 3
NAMES = [word for word in sys.argv[1:] if not word.startswith("--")]

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
        env = {**os.environ, "GPUSHIM_ALLOC_CONF": "snapshot_dir:%s%s" % (folder, conf)}
        if GPU:
            env["LD_PRELOAD"] = os.path.join(BUILD, "libgpushim.so")
        sim = [] if GPU else [os.path.join(TOP, "scripts/sim-run"), "--build", BUILD, *policy]
        run = subprocess.run(sim + [path], capture_output=True, text=True, env=env)
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
        return labels.judge(labels.of_c(source, GPU), found_by(path, source))
    except RuntimeError as error:
        return [str(error)]


def judge(source_path):
    """(what it is about, what is wrong)"""
    with open(source_path) as file:
        source = file.read()
    program = os.path.join(BUILD, os.path.relpath(source_path, TOP)[:-2])
    for _ in range(RUNS):
        lines = wrong(program, source)
        if not lines:
            break
    return " ".join(source.split("*/", 1)[0].split("\n *\n")[0].split("\n * ")).strip("/* .").split(". ")[0], lines


def main():
    folders = ["tests/labelled/blind"] if BLIND else ["tests/labelled", "tests/labelled/blind"]
    sources = sorted(path for folder in folders for sort in ("rt_*.c", "drv_*.c") for path in glob.glob(os.path.join(TOP, folder, sort)))
    if NAMES:
        sources = [path for path in sources if os.path.basename(path)[:-2] in NAMES]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        judged = list(pool.map(judge, sources))
    for number, (path, (text, lines)) in enumerate(zip(sources, judged), 1):
        print("%sok %d - %s" % ("not " if lines else "", number, text))
        for line in lines:
            print("# %s: %s" % (os.path.basename(path)[:-2], line))
    print("1..%d" % len(sources))
    if GPU:
        print("%d programs, %d wrong" % (len(judged), sum(bool(lines) for _, lines in judged)))
    return int(any(lines for _, lines in judged))


if __name__ == "__main__":
    sys.exit(main())
