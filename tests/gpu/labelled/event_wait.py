"""One stream waits for another, the host for none."""
import torch
from work import STEPS, busy, square

x = square()
side = torch.cuda.Stream()
for _ in range(STEPS):
    y = busy(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = busy(y)
    torch.cuda.current_stream().wait_stream(side)
    y.record_stream(side)
print(z.sum().item())
