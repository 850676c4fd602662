"""non_blocking=True from pageable memory blocks all the same."""
import torch
from work import STEPS, busy, square

data = torch.rand(2048, 2048)
for _ in range(STEPS):
    x = data.to("cuda", non_blocking=True)  # finds: pageable
    y = busy(x / 2048)
print(y.sum().item())
