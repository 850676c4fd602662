"""The same without a copy."""
import torch
from work import STEPS, busy, square

x = square()
weights = torch.empty(2, device="cuda")
for number in range(STEPS):
    weights[0].fill_(number)
    y = busy(x) * weights[0]
print(y.sum().item())
