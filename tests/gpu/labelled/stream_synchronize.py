"""A wait for a stream after each step."""
import torch
from work import STEPS, busy, square

x = square()
stream = torch.cuda.current_stream()
for _ in range(STEPS):
    y = busy(x)
    stream.synchronize()  # finds: stream-sync
