"""A Numba kernel, and copy_to_host() in each step, with the host at work afterwards."""
import numpy as np
from host import STEPS, think

if not hasattr(np, "row_stack"):  # gone from NumPy 2.5, and numba-cuda still asks for it
    np.row_stack = np.vstack
from numba import cuda


@cuda.jit
def burn(x, rounds):
    at = cuda.grid(1)
    if at < x.size:
        value = x[at]
        for _ in range(rounds):
            value = value * 0.999 + 0.001
        x[at] = value


x = cuda.to_device(np.ones(1 << 20, dtype=np.float32))
total = 0.0
for step in range(STEPS):
    burn[(1 << 20) // 256, 256](x, 2000)
    result = x.copy_to_host()  # finds: copy-to-host
    total += float(result[0])
    think()
print(total)
