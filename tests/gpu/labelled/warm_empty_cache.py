"""The cache is emptied in each step: memory goes back to the driver, which waits."""
import torch
from work import STEPS, busy, square

for _ in range(STEPS):
    x = square()
    y = busy(x)
    del x, y
    torch.cuda.empty_cache()  # finds: free
