"""Trains a small transformer until PyTorch has made and dropped tensors a given number of times, then asks for snapshots.

    history_dump.py EVENTS

Prints one JSON line: seconds for each snapshot, the path of the last one, and how many events there were."""

import json
import sys
import time

import torch

from transformer import Transformer, take_snapshot, train_step

SNAPSHOTS = 3


def events():
    stats = torch.cuda.memory_stats()
    return stats["allocation.all.allocated"] + stats["allocation.all.freed"]


def main():
    torch.manual_seed(0)
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    step = 0
    while events() < int(sys.argv[1]):
        train_step(model, optimizer, step)
        step += 1
    times, path = [], ""
    for _ in range(SNAPSHOTS):
        start = time.perf_counter()
        path = take_snapshot()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": times, "snapshot": path, "events": events(), "steps": step}))


main()
