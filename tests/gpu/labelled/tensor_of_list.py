"""A tensor is made of a list in each step: a copy from pageable memory."""
import torch
from work import STEPS, busy, square

x = square()
for number in range(STEPS):
    weights = torch.tensor([number, number + 1.0], device="cuda")  # finds: pageable
    y = busy(x) * weights[0]
print(y.sum().item())
