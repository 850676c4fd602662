"""unique() asks how many there are."""
import torch
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = (busy(x)[0] * 1000).int()
    kinds = torch.unique(y)  # finds: data-dependent-shape
