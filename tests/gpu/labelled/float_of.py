"""float() of a tensor waits as item() does."""
from work import train

losses = []
train(lambda loss, number: losses.append(
    float(loss)))  # finds: value
