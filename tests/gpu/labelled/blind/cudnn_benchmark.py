"""cudnn.benchmark with images of a new size in each step: each one is tuned for anew. What else the tuning does at that line (memory,
code, waits) may be named, too."""
import torch

torch.backends.cudnn.benchmark = True
conv = torch.nn.Conv2d(32, 64, 5, padding=2).cuda()
total = torch.zeros((), device="cuda")
with torch.no_grad():
    for step in range(20):
        images = torch.zeros(8, 32, 96 + 8 * step, 96, device="cuda")
        total += conv(images).mean()  # finds: autotune # may: memory-calls|module-loading|wait-event|wait-device|wait-stream
print(float(total))
