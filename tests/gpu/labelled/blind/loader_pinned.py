"""A DataLoader with pin_memory, uploads with non_blocking=True, one loss read at the end: nothing to find."""
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(8192, 1024), torch.randint(16, (8192,)))
loader = DataLoader(data, batch_size=256, shuffle=True, pin_memory=True, num_workers=2, persistent_workers=True)
net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096), torch.nn.ReLU(),
                          torch.nn.Linear(4096, 16)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
total = torch.zeros((), device="cuda")
if __name__ == "__main__":
    for epoch in range(2):
        for inputs, labels in loader:
            inputs, labels = inputs.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimizer.step()
            total += loss.detach()
    print(float(total))
