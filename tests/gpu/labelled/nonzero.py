"""The size of a result depends on the data."""
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    found = (y > 0.5).nonzero()  # finds: data-dependent-shape
