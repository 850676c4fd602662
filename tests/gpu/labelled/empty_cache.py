"""The cache is emptied in each step: memory goes back to the driver, which waits, and comes from there again."""
import torch
from work import STEPS, square

y = square()
for _ in range(STEPS):
    x = y @ y  # finds: alloc
    del x
    torch.cuda.empty_cache()  # finds: free
