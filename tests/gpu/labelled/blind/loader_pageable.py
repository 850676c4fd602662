"""The same loop as it is often written: no pin_memory, and .to("cuda") waits for the copy in each step."""
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40 * 1024, 1024))
loader = DataLoader(data, batch_size=1024)
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
total = torch.zeros((), device="cuda")
for (inputs,) in loader:
    inputs = inputs.to("cuda")  # finds: copy-to-device|pageable-async
    optimizer.zero_grad()
    loss = net(inputs).square().mean()
    loss.backward()
    optimizer.step()
    total += loss.detach()
print(float(total))
