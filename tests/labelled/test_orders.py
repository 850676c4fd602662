#!/usr/bin/env python3
# timeout 600
"""Random programs whose work is ordered as CUDA wants it (tests/soak) have no hazard, whatever the schedule.

    test_orders.py [FIRST SEEDS]"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
POLICIES = ["late", "in-order", "random", "priority"]
FIRST, SEEDS = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1, 24)


def crossings(seed):
    """What was found, by kind; and how many launches, copies and memsets there were."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "GPUSHIM_ALLOC_CONF": "hazards:on,snapshot_dir:" + folder, "SIM_DEVICES": "2" if seed % 4 == 0 else "1"}
        run = subprocess.run([os.path.join(TOP, "scripts/sim-run"), "--build", BUILD, "--policy", POLICIES[seed % 4],
                              os.path.join(BUILD, "tests/soak/program"), str(seed)], env=env, capture_output=True, text=True)
        found, work = [], 0
        for path in glob.glob(os.path.join(folder, "gpushim.*.json")):
            with open(path) as file:
                snapshot = json.load(file)
            table, strings = snapshot["crossings"], snapshot["strings"]
            work += sum(snapshot["kernels"]["calls"])
            found += ["%s: %s after %s" % (table["kind_names"][kind], strings[name], strings[other]) for kind, name, other
                      in zip(table["kind"], table["name"], table["other_name"]) if table["kind_names"][kind] != "serialised"]
        if not work and run.returncode not in (3, 4): # some end without their exit handlers
            found.append("no snapshot: status %d, %s" % (run.returncode, run.stderr[-200:]))
        return seed, found, work


def main():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(crossings, range(FIRST, FIRST + SEEDS)))
    wrong = [(seed, found) for seed, found, _ in results if found]
    print("%sok 1 - no hazard in %d programs with %d pieces of work" %
          ("not " if wrong else "", SEEDS, sum(work for _, _, work in results)))
    for seed, found in wrong:
        print("# seed %d: %s" % (seed, "; ".join(sorted(set(found)))))
    print("1..1")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
