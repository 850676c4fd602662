"""A tensor of the main stream is used on a side stream and dropped while that use is pending. PyTorch gives its memory to the next
tensor of the main stream at once: the line that makes that one is where it goes wrong."""
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
    del batch
    other = torch.full((1 << 20,), -1.0, device="cuda")  # hazard: reused-in-use
    torch.cuda.current_stream().wait_stream(side)
    del other
torch.cuda.synchronize()
print(float(kept.sum()))
