"""Activations go to the host in every step."""
from work import STEPS, busy, square

x = square()
kept = []
for _ in range(STEPS):
    kept.append(busy(x).cpu())  # finds: to-host
