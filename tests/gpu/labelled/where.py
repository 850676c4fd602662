"""What a boolean index wants, without one."""
import torch
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    y = torch.where(y > 0.5, y, torch.zeros_like(y))
print(y.sum().item())
