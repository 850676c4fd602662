"""The best tokens of a batch become a Python list in each step, which the host then works on."""
import torch
from host import STEPS, think

weight = torch.randn(2048, 8192, device="cuda")
hidden = torch.randn(512, 2048, device="cuda")
seen = 0
for step in range(STEPS):
    for _ in range(4):
        logits = hidden @ weight
        hidden = torch.tanh(logits[:, :2048])
    tokens = logits.argmax(dim=-1)
    words = tokens.tolist()  # finds: tolist
    seen += len(set(words))
    think()
print(seen)
