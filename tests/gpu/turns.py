"""Programs that are timed by turns: they start, wait, and run some steps whenever they are told to.

    serve(step) in the program: for each line "N" on standard input, runs step() N times and prints the seconds of each as
    a JSON list. "ready" is printed before the first one."""

import json
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
