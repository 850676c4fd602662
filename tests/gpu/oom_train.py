"""A training run that runs out of device memory: the batch doubles until it no longer fits.

    oom_train.py plain|fragmented

Nearly all memory is activations of one line, which also asks for what is not there. fragmented: before that, live tensors
keep segments of PyTorch's cache from being given back. Prints one JSON line: what PyTorch says was live and reserved when
it gave up, and the lines."""

import argparse
import json

import torch
import torch.nn.functional as F

WIDTH, LAYERS, MIB = 16384, 96, 1 << 20


def line_of(mark):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if text.rstrip().endswith("# " + mark))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH // 64, WIDTH, device="cuda") / 128)

    def forward(self, x):
        h = torch.sigmoid(F.linear(x, self.weight))
        return h.repeat(1, 64)  # the hungry line


def fragment():
    """A third of many segments stays in use: three tensors share a segment of 20 MiB."""
    share = torch.cuda.mem_get_info()[0] // 4
    tensors = [torch.empty(6 * MIB, dtype=torch.uint8, device="cuda") for _ in range(share // (20 * MIB) * 3)]
    return tensors[::3]


def figures():
    stats = torch.cuda.memory_stats()
    return {
        "live_bytes": torch.cuda.memory_allocated(),
        "live_count": stats.get("allocation.all.current", 0),
        "reserved_bytes": torch.cuda.memory_reserved(),
        "retries": stats.get("num_alloc_retries", 0),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["plain", "fragmented"])
    arguments = parser.parse_args()
    torch.manual_seed(0)
    at_the_moment = {}
    if torch.cuda.get_allocator_backend() == "native":
        # Called by PyTorch before it unwinds; the other backend has no such thing, and no temporaries here either.
        torch._C._cuda_attach_out_of_memory_observer(lambda *_: at_the_moment.update(figures()))
    kept = fragment() if arguments.case == "fragmented" else []
    model = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = 1024
    try:
        while True:
            loss = model(torch.randn(rows, WIDTH, device="cuda")).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            print(f"rows {rows} done", flush=True)
            rows *= 2
    except torch.cuda.OutOfMemoryError as error:
        found = at_the_moment or figures()
        found["message"] = str(error)
    print(json.dumps({**found, "rows": rows, "kept": len(kept), "line": line_of("the hungry line")}))


main()
