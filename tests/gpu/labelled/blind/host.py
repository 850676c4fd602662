"""What the programs of this folder share: the host has something else to do for a moment."""
import time

STEPS = 40


def think(ms=2.0):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        pass
