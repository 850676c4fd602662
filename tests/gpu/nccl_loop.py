"""Small kernels and sums over two GPUs by turns, 10,000 times, for torch.distributed.run with two ranks. Each rank prints a digest of
what it holds at the end and of what it held on the way.

--stalls: each rank keeps to two processors, where other processes take turns between computing and sleeping at random, so that
each of its threads has to wait now and then, NCCL's and gpushim's among them."""

import os
import random
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat"))
import common

ROUNDS, LOOK, SIZES, BUSY = 10000, 500, (32, 1024, 4096, 65536), 4
BUSY_PROGRAM = """
import os, random, sys, time
mine, parent = random.Random(int(sys.argv[1])), os.getppid()
while os.getppid() == parent:
    end = time.monotonic() + mine.expovariate(1 / 0.01)
    while time.monotonic() < end:
        pass
    time.sleep(mine.expovariate(1 / 0.02))
"""


def make_stalls(rank):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[2 * rank : 2 * rank + 2] or cores)
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return [
        subprocess.Popen([sys.executable, "-c", BUSY_PROGRAM, str(rank * BUSY + i)], env=plain) for i in range(BUSY)
    ]


def loop(torch, distributed, rank):
    sizes = random.Random(0)
    held = [torch.full((size,), 1.0 + rank, device="cuda") for size in SIZES]
    more = [torch.randn(size, device="cuda") for size in SIZES]
    seen = []
    for number in range(ROUNDS):
        which = sizes.randrange(len(SIZES))
        x, y = held[which], more[which]
        for _ in range(4):
            x.mul_(0.75).add_(y).clamp_(-8, 8)
        x.mul_(1 + rank)
        distributed.all_reduce(x)
        x.mul_(0.25)
        if number % LOOK == LOOK - 1:
            seen.append(x.sum().item())
    return seen, held


def main():
    rank = int(os.environ["LOCAL_RANK"])
    stalls = make_stalls(rank) if "--stalls" in sys.argv else []
    try:
        torch = common.need_torch()
        import torch.distributed as distributed

        torch.cuda.set_device(rank)
        torch.manual_seed(rank)
        distributed.init_process_group("nccl")
        seen, held = loop(torch, distributed, rank)
        common.done(rank, seen, held)
        distributed.destroy_process_group()
    finally:
        for process in stalls:
            process.kill()
            process.wait()


main()
