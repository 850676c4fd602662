"""The loss is read in each step, hidden in the class that keeps the mean; then the host has other things to do."""
import torch
from host import STEPS, think


class Mean:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value.item()  # finds: item
        self.count += 1


net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
inputs = torch.randn(1024, 2048, device="cuda")
mean = Mean()
for step in range(STEPS):
    optimizer.zero_grad()
    loss = net(inputs).square().mean()
    loss.backward()
    optimizer.step()
    mean.update(loss)
    think()
print(mean.total / mean.count)
