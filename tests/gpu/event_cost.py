"""What one small tensor costs to make and to drop, in a program whose stack is about twenty Python frames deep and whose
innermost lines change from tensor to tensor.

    event_cost.py [--history python|all]

--history: with PyTorch's own recording, for comparison. Prints one JSON line: nanoseconds for a pair, the least and the
median over many short runs."""

import argparse
import json
import time

import torch

DEPTH, PAIRS, RUNS = 16, 2000, 40


def first(device):
    a = torch.empty(1024, device=device)
    return a


def second(device):
    b = torch.empty(2048, device=device)
    return b


def third(device):
    return first(device)


def loop(device):
    for _ in range(PAIRS // 4):
        torch.empty(512, device=device)
        first(device)
        second(device)
        third(device)


def down(depth, device):
    return loop(device) if depth == 0 else down(depth - 1, device)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", choices=["python", "all"])
    arguments = parser.parse_args()
    device = torch.device("cuda")
    if arguments.history:
        torch.cuda.memory._record_memory_history(max_entries=100000, stacks=arguments.history)
    down(DEPTH, device)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter_ns()
        down(DEPTH, device)
        times.append((time.perf_counter_ns() - start) / PAIRS)
    times.sort()
    print(json.dumps({"ns_least": times[0], "ns_median": times[len(times) // 2]}))


main()
