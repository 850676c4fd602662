"""Training in bf16 with clipping, a schedule and gradient accumulation; the loss is summed on the device and read at the end.
Nothing to find."""
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
inputs = torch.randn(1024, 2048, device="cuda")
total = torch.zeros((), device="cuda")
for step in range(50):
    optimizer.zero_grad(set_to_none=True)
    for _ in range(2):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(inputs).square().mean() / 2
        loss.backward()
        total += loss.detach()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()
print(total.item())
