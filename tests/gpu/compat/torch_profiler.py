"""torch.profiler around training: it sees the same kernels, by name and number."""

import collections

import common

torch = common.need_torch()
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

model = common.perceptron(torch)
step = common.training(torch, model, (64, 512))
losses = [step(0) for _ in range(5)]
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as result:
    losses += [step(0) for _ in range(5)]
    torch.cuda.synchronize()
names = [event.name for event in result.events() if event.device_type == DeviceType.CUDA]
kernels = collections.Counter(name for name in names if not name.startswith(("Mem", "Optimizer", "ProfilerStep")))
assert sum(kernels.values()) > 50, kernels
losses += [step(0) for _ in range(5)]
common.say(f"ok {sum(kernels.values())} kernels of {len(kernels)} names")
common.done(losses, sorted(kernels.items()))
