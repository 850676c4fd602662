"""The other right way: the main stream waits for the side stream before the tensor is dropped. Nothing to find."""
# settings: hazards:on
import torch

side = torch.cuda.Stream()
kept = torch.zeros(1 << 20, device="cuda")
torch.cuda.synchronize()
for step in range(10):
    batch = torch.full((1 << 20,), float(step), device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        kept.add_(batch)
    torch.cuda.current_stream().wait_stream(side)
    del batch
    other = torch.full((1 << 20,), -1.0, device="cuda")
    del other
torch.cuda.synchronize()
print(float(kept.sum()))
