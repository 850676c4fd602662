"""The loss is read after every step."""
from work import train

total = 0.0


def step(loss, number):
    global total
    total += loss.item()  # finds: value


train(step)
