"""Decoding that looks at each token: the one wait of each step is this."""
import torch
from work import model

net = model()
state = torch.zeros(1, 1024, device="cuda")
for _ in range(40):
    for _ in range(20):
        state = state + net[0](state)
    token = net(state).argmax()
    if token.item() == 99:  # finds: value
        break
