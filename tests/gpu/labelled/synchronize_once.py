"""One wait, at the end: that is how it is meant."""
import torch
from work import train

train(lambda loss, number: None)
torch.cuda.synchronize()
