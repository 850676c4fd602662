"""Waits of several kinds, each after some milliseconds of work: how long the host is blocked, for comparison.

    blocked.py [--profile]

Prints one JSON line: a checksum, and with --profile the kernels launched and the microseconds inside the runtime's calls that wait,
by torch.profiler (CUPTI). All waits are on lines of this file, in waits()."""

import json
import sys

import torch

ROUNDS = 30
WAITING = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpyAsync")


def work(x):
    for _ in range(4):
        x = torch.tanh(x @ x)
    return x


def waits(x, event):
    total = 0.0
    for _ in range(ROUNDS):
        total += work(x)[0, 0].item()
        work(x)
        torch.cuda.current_stream().synchronize()
        work(x)
        event.record()
        event.synchronize()
        work(x)
        torch.cuda.synchronize()
        total += work(x).cpu()[0, 1].item()
    return total


def main():
    x = torch.arange(4096 * 4096, device="cuda", dtype=torch.float32).reshape(4096, 4096).sin_() / 4096
    event = torch.cuda.Event()
    work(x).sum().item()
    if "--profile" not in sys.argv:
        print(json.dumps({"sum": waits(x, event)}))
        return
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        total = waits(x, event)
    events = profiler.events()
    print(json.dumps({
        "sum": total,
        "kernels": sum(event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset"))
                       for event in events),
        "blocked_us": sum(event.time_range.elapsed_us() for event in events if event.name in WAITING),
    }))


main()
