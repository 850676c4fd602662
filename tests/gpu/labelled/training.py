"""Training that waits for nothing."""
from work import train

train(lambda loss, number: None, steps=40)
