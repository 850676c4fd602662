#!/usr/bin/env python3
"""Writes a file of launch_bound as C++ for the simulated device (bound_sim.h): bound_sim.py FILE.cu > FILE.cc"""

import os
import re
import sys


def split_first(text):
    """Before and after the first comma outside of parentheses."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            return text[:place], text[place + 1 :]
    raise ValueError(text)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    waiting = set()
    for kernel in re.finditer(r"^__global__ void (\w+)\(.*?^}", source, re.M | re.S):
        if "__syncthreads" in kernel.group(0):
            waiting.add(kernel.group(1))

    def call(launch):
        kernel, configuration = launch.group(1), " ".join(launch.group(2).split())
        grid, rest = split_first(configuration)
        block, stream = rest.rsplit(", 0, ", 1)
        waits = "true" if kernel in waiting else "false"
        name = f"{os.path.basename(path)}:{kernel}"
        return f'bound_launch<{kernel}, {waits}>{{"{name}", dim3({grid}), dim3({block}), {stream}}}('

    print('#include "tests/gpu/bound_sim.h"\n' + re.sub(r"(\w+(?:<\w+>)?)<<<(.*?)>>>\(", call, source, flags=re.S), end="")


if __name__ == "__main__":
    main()
