"""What one small tensor costs to make and to drop, in a program whose stack is about twenty Python frames deep and whose
innermost lines change from tensor to tensor.

    event_cost.py [--history python|all]

--history: with PyTorch's own recording, for comparison. A step (turns.py) makes and drops PAIRS tensors."""

import argparse

import torch

import turns

DEPTH, PAIRS = 16, 2000


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
    turns.serve(lambda: down(DEPTH, device))


main()
