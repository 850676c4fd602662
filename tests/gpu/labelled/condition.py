"""An if that asks the device."""
from work import train


def step(loss, number):
    if loss > 100:  # finds: value
        raise ValueError("the loss explodes")


train(step)
