"""A small tensor becomes a list."""
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    row = busy(x)[0, :32]
    values = row.tolist()  # finds: tolist
