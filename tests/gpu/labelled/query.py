"""The host asks until the work is done."""
import torch
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    event = torch.cuda.Event()
    event.record()
    while not event.query():  # finds: spin
        pass
