"""torch.repeat_interleave has to know how long its result is, and waits for that; nothing in the line looks like it.

The documentation names no finding of its own for it: by what it does it is a value read, or a result whose size depends on data."""
import torch
from host import STEPS, think

x = torch.randn(4096, 1024, device="cuda")
w = torch.randn(1024, 1024, device="cuda") / 32
counts = torch.randint(0, 3, (4096,), device="cuda")
for step in range(STEPS):
    y = x
    for _ in range(8):
        y = torch.tanh(y @ w)
    rows = torch.repeat_interleave(y, counts, dim=0)  # finds: item|nonzero|copy-to-host|wait-stream
    total = rows.sum()
    think()
print(float(total))
