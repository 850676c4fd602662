"""Programs that are timed by turns: they start, wait, and run some steps whenever they are told to.

    serve(step) in the program: for each line "N" on standard input, runs step() N times and prints the seconds of each as
    a JSON list. "ready" is printed before the first one.
    run(step, count): with --turns among the arguments as serve(); otherwise runs count steps after a few, and prints the
    least and the median of their milliseconds."""

import json
import statistics
import sys
import time


def serve(step, synchronize=lambda: None):
    print("ready", flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            synchronize()
            start = time.perf_counter()
            step()
            synchronize()
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds), flush=True)


WARM = 4


def run(step, count, synchronize=lambda: None):
    if "--turns" in sys.argv:
        serve(step, synchronize)
        return
    seconds = []
    for _ in range(WARM + count):
        start = time.perf_counter()
        step()
        synchronize()
        seconds.append(time.perf_counter() - start)
    del seconds[:WARM]
    print(f"ms {min(seconds) * 1e3:.4f} {statistics.median(seconds) * 1e3:.4f}", flush=True)
