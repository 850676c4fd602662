"""A boolean index needs to know how many are true."""
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    some = y[y > 0.5]  # finds: data-dependent-shape
