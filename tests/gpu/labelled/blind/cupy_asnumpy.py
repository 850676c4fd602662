"""Results of CuPy are fetched in each step, and NumPy works on them."""
import cupy as cp
import numpy as np
from host import STEPS, think

x = cp.random.rand(1024, 1024, dtype=cp.float32) / 1024
sums = []
for step in range(STEPS):
    y = x
    for _ in range(8):
        y = cp.tanh(y @ x)
    result = cp.asnumpy(y)  # finds: copy-to-host
    sums.append(np.abs(result).sum())
    think()
print(sum(sums))
