#!/usr/bin/env python3
"""Findings of waits against labels: each program of tests/gpu/labelled/ says at its lines what must be found there
(`# finds: KIND`, see tests/lib/labels.py); nothing else may be called a problem.

    labelled.py [NAME..]     some of the programs; without a name all
    labelled.py --blind      those of labelled/blind/, written without knowing the detector

Needs PyTorch, a GPU and build/. Prints one line for each program that is wrong, then the counts; status 1 if one is."""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "labelled")
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build")
HELPERS = {"work", "blind/host"}
AT_ONCE = 6

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import labels # noqa: E402


def labels_of(path):
    with open(path) as file:
        return labels.of_python(file.read())


def findings(path, folder):
    """{(sort, kind, line): finding} of what gpushim names in the program; elsewhere, the place instead of the line."""
    with open(path) as file:
        conf = "".join("," + text for text in re.findall(r"^# settings: (\S+)", file.read(), re.M))
    run = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True, timeout=300, env={
        **os.environ, "LD_PRELOAD": os.path.join(BUILD, "libgpushim.so"),
        "GPUSHIM_ALLOC_CONF": f"snapshot_dir:{folder}{conf}"})
    if run.returncode != 0:
        raise RuntimeError(f"status {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
    snapshots = glob.glob(os.path.join(folder, "gpushim.*.json"))
    report = subprocess.run([os.path.join(BUILD, "gpushim-report"), "sync", "--json", *snapshots], capture_output=True,
                            text=True, check=True)
    sync = json.loads(report.stdout)
    found = {}
    for sort, finding in ([("finds", row) for row in sync["findings"] if row["problem"]] +
                          [("hazard", row) for row in sync.get("hazards", [])]):
        place = re.search(r"labelled/(?:blind/)?%s:(\d+) in " % re.escape(os.path.basename(path)), finding["place"])
        found[(sort, finding["kind"], int(place.group(1)) if place else finding["place"])] = finding
    return found


def describe(finding):
    return "%s: %s times, %.0f us each, %s" % (finding["place"], finding.get("calls"), finding.get("host_ns", 0) / 1000 /
                                               max(finding.get("calls", 1), 1), finding.get("functions"))


def check(path):
    """What is wrong with the findings of one program, in lines."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = findings(path, folder)
        except (RuntimeError, OSError, subprocess.SubprocessError, ValueError) as error:
            return ["could not be judged: %s" % error]
    return labels.judge(labels_of(path), set(found)) + ["  " + describe(finding) for key, finding in found.items()
                                                        if not any(labels.fits(label, key) for label in labels_of(path))]


def main():
    pattern = "blind/*.py" if "--blind" in sys.argv else "*.py"
    names = [name for name in sys.argv[1:] if name != "--blind"] or sorted(
        os.path.relpath(path, FOLDER)[:-3] for path in glob.glob(os.path.join(FOLDER, pattern)))
    names = [name for name in names if name not in HELPERS]
    paths = [os.path.join(FOLDER, name + ".py") for name in names]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = dict(zip(names, pool.map(check, paths)))
    for name, lines in wrong.items():
        for line in lines:
            print("%-20s %s" % (name, line))
    right = sum(not lines for lines in wrong.values())
    print("%d programs, %d labels: %d right, %d wrong" %
          (len(names), sum(len(labels_of(path)) for path in paths), right, len(names) - right))
    return int(right < len(names))


if __name__ == "__main__":
    sys.exit(main())
