"""A condition on the device decides whether the host goes on: the tensor becomes a bool by itself."""
import torch
from host import STEPS, think

x = torch.rand(2048, 2048, device="cuda") / 2048
rounds = 0
while rounds < STEPS:
    y = x
    for _ in range(6):
        y = torch.tanh(y @ x) + 0.5
    if (y > 2).all():  # finds: bool
        break
    think()
    rounds += 1
print(rounds)
