"""fp16 with GradScaler: it asks once a step, and that is how it works."""
import torch
from work import STEPS, batch, model

net = model()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
inputs, labels = batch()
for _ in range(STEPS):
    with torch.autocast("cuda", torch.float16):
        loss = torch.nn.functional.cross_entropy(net(inputs), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
