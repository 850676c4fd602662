"""What the launch log costs: host time of a launch, through PyTorch, from ten lines in turn, in a loop that the device
keeps up with. Prints JSON: ns per operator call, least and median of the batches."""

import json
import statistics
import time

import torch

BATCHES, BATCH = 300, 10


def calls(a, b):
    torch.add(a, b, out=a)
    torch.sub(a, b, out=a)
    torch.mul(a, b, out=a)
    torch.neg(a, out=a)
    torch.abs(a, out=a)
    torch.sin(a, out=a)
    torch.cos(a, out=a)
    torch.exp(a, out=a)
    torch.tanh(a, out=a)
    torch.sqrt(b, out=a)


def main():
    a, b = torch.ones(32, device="cuda"), torch.ones(32, device="cuda")
    figures = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(BATCH):
            calls(a, b)
        figures.append((time.perf_counter_ns() - start) / BATCH / 10)
    print(json.dumps({"ns_least": min(figures), "ns_median": statistics.median(figures)}))


if __name__ == "__main__":
    main()
