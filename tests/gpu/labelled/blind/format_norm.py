"""A progress line formats the norm of the gradients in each step; a formatted tensor is a value read.

Whether it counts as `.item()` or as print(tensor) is open: it is in an f-string."""
import io

import torch
from host import STEPS, think

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
inputs = torch.randn(2048, 2048, device="cuda")
log = io.StringIO()
for step in range(STEPS):
    optimizer.zero_grad()
    net(inputs).square().mean().backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    log.write(f"{step}: {norm:.3f}\n")  # finds: item|print
    think()
print(len(log.getvalue()))
