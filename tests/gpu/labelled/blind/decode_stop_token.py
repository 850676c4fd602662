"""A decode loop reads one token in each step, to know whether it is the last one, and goes on at once: it cannot do without, and the
device is busy up to it and right afterwards. Not a problem."""
import torch

torch.manual_seed(0)
table = torch.randn(32000, 2048, device="cuda", dtype=torch.bfloat16) / 45
layers = [torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) / 45 for _ in range(24)]
token = torch.tensor([1], device="cuda")
tokens = []
with torch.no_grad():
    while len(tokens) < 60:
        x = table[token].expand(512, 2048)
        for layer in layers:
            x = torch.relu(x @ layer) + x
        token = (x[:1] @ table.T).argmax(dim=-1)
        word = token.item()
        tokens.append(word)
        if word == 32000:
            break
print(len(tokens))
