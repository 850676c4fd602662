"""A tensor is printed in the loop."""
from work import STEPS, busy, square

x = square()
for _ in range(STEPS):
    y = busy(x)
    print(y)  # finds: print
