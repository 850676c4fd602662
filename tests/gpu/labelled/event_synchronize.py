"""A wait for an event after each step."""
import torch
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()  # finds: event-sync
