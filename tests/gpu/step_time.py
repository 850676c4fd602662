"""Steps of a known number, launches and length, for comparison with what gpushim finds: a training loop or a decoding one.

    step_time.py train|decode [--profile]

Prints one JSON line: steps after the warm ones, and per step the median wall time. With --profile, run without gpushim:
also launches and the sum of kernel times per step, by torch.profiler (CUPTI)."""

import json
import statistics
import sys
import time

import torch
import torch.nn as nn

WARM, STEPS = 20, 200


def training():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.LayerNorm(1024)) for _ in range(12)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    data = torch.randn(256, 1024, device="cuda")

    def step():
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def decoding():
    words, width = 32000, 2048
    linear = lambda outputs: nn.Linear(width, outputs, bias=False)
    embed, norm, head = nn.Embedding(words, width), nn.RMSNorm(width), linear(words)
    layers = nn.ModuleList([linear(width) for _ in range(48)])
    nn.ModuleList([embed, norm, head, layers]).cuda().to(torch.bfloat16)
    token = torch.zeros(1, dtype=torch.long, device="cuda")

    def step():
        with torch.no_grad():
            y = embed(token)
            for layer in layers:
                y = torch.nn.functional.silu(layer(y)) + y
            token.copy_(head(norm(y)).argmax(-1))
            return int(token)

    return step


def main():
    step = training() if sys.argv[1] == "train" else decoding()
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    result, walls = {"steps": STEPS}, []
    if "--profile" in sys.argv:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(STEPS):
                step()
            torch.cuda.synchronize()
        kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA
                   and not event.name.startswith(("Memcpy", "Memset"))]
        result["launches"] = len(kernels) / STEPS
        result["device_us"] = sum(event.time_range.elapsed_us() for event in kernels) / STEPS
    else:
        for _ in range(STEPS):
            start = time.perf_counter_ns()
            step()
            walls.append(time.perf_counter_ns() - start)
        result["wall_us"] = statistics.median(walls) / 1000
    print(json.dumps(result))


main()
