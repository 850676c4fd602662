"""Each step is timed on the host between two torch.cuda.synchronize(), and the time is dealt with for a while. The first of the two
finds nothing left to do and is harmless; the second one costs."""
import time

import torch
from host import STEPS, think

x = torch.rand(2048, 2048, device="cuda") / 2048
times = []
for step in range(STEPS):
    torch.cuda.synchronize()
    start = time.perf_counter()
    y = x
    for _ in range(8):
        y = torch.tanh(y @ x)
    torch.cuda.synchronize()  # finds: wait-device
    times.append(time.perf_counter() - start)
    think()
print(min(times), max(times))
