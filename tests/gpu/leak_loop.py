"""A training loop that keeps one small tensor of each step, as programs do by mistake.

    leak_loop.py leak|clean [--steps N]

Prints one JSON line: the line of the leak, how many tensors it kept, and the path of a snapshot asked for in the middle of
a step, when activations are alive that no leak is to be blamed for."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

from transformer import take_snapshot

WIDTH = 512


def line_of(mark):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if text.rstrip().endswith("# " + mark))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["leak", "clean"])
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(8)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    seen, path = [], ""
    for step in range(arguments.steps):
        x = torch.randn(64, WIDTH, device="cuda")
        features = model(x)
        if arguments.case == "leak":
            seen.append(features.detach() * 2)  # the leak
        loss = F.mse_loss(features, x)
        if step == arguments.steps - 1:
            path = take_snapshot()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(json.dumps({"line": line_of("the leak"), "kept": len(seen), "kept_bytes": 64 * WIDTH * 4, "snapshot": path}))


main()
