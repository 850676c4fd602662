"""A wait for the device after each step, as for timing."""
import torch
from work import train


def step(loss, number):
    torch.cuda.synchronize()  # finds: device-sync


train(step)
