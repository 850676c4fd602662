"""The host asks now and then, and goes on with other work: that is what queries are for."""
import time

import torch
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    event = torch.cuda.Event()
    event.record()
    while not event.query():
        time.sleep(0.001)
