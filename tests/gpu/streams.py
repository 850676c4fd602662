"""A training step whose memory goes from stream to stream: input prefetched on a copy stream, weights gathered from
shards on a second, activations offloaded on a third, record_stream everywhere. Prints one JSON line: milliseconds a
step, and the sum of the results, which every run must print alike. With --outside it says "ready" before the first allocation
and waits for a line."""

import json
import random
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, WIDTH, STEPS, WARM_STEPS = 12, 1536, 30, 8


class Streams:
    def __init__(self):
        self.copy, self.gathering, self.offload = (torch.cuda.Stream() for _ in range(3))
        self.shards = [
            torch.randn(WIDTH * WIDTH * 4 // 8, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)
        ]
        self.host = torch.randn(1 << 24).pin_memory()

    def gather(self, layer):
        with torch.cuda.stream(self.gathering):
            return torch.cat([self.shards[layer]] * 8).view(4 * WIDTH, WIDTH), self.gathering.record_event()

    def prefetch(self, rows):
        with torch.cuda.stream(self.copy):
            piece = self.host[: rows * 256].to("cuda", non_blocking=True)
            x = piece.to(torch.bfloat16).view(rows, 256).repeat(1, WIDTH // 256)
        torch.cuda.current_stream().wait_stream(self.copy)
        x.record_stream(torch.cuda.current_stream())
        return x

    def offloaded(self, tensor):
        self.offload.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.offload):
            host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(self.offload)
        return host

    def fetched(self, host):
        self.copy.wait_stream(self.offload)
        with torch.cuda.stream(self.copy):
            tensor = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.copy)
        tensor.record_stream(torch.cuda.current_stream())
        return tensor

    def step(self):
        x = self.prefetch(random.randrange(512, 8192, 64))
        following, kept = self.gather(0), []
        for layer in range(LAYERS):
            weight, gathered = following
            following = self.gather(layer + 1) if layer + 1 < LAYERS else None
            torch.cuda.current_stream().wait_event(gathered)
            weight.record_stream(torch.cuda.current_stream())
            hidden = F.gelu(x @ weight.t())
            x = x + torch.tanh(hidden @ weight)
            if layer % 3 == 0:
                kept.append(self.offloaded(hidden))
            elif layer % 3 == 1:
                kept.append(hidden)
            del weight, hidden
        result = x.float().mean()
        for tensor in reversed(kept):
            if tensor.device.type == "cpu":
                tensor = self.fetched(tensor)
            result = result + tensor.float().mean()
        return result.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    torch.cuda.init()
    torch.cuda.synchronize()
    if "--outside" in sys.argv:
        print("ready", flush=True)
        sys.stdin.readline()
    program, times, total = Streams(), [], 0.0
    for _ in range(STEPS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        total += program.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    warm = sorted(times[WARM_STEPS:])
    print(json.dumps({"ms_median": warm[len(warm) // 2], "ms_least": warm[0], "sum": f"{total:.9g}"}))


main()
