"""gpushim's functions as PyTorch's allocator where gpushim is preloaded; PyTorch's own allocator without it."""

import os

import common

torch = common.need_torch()
if os.environ.get("LD_PRELOAD"):
    library = os.environ["GPUSHIM_LIBRARY"]
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "gpushim_torch_malloc", "gpushim_torch_free")
    torch.cuda.memory.change_current_allocator(allocator)
model = common.perceptron(torch)
losses = common.steps(common.training(torch, model, (256, 512)), 30)
common.done(losses, list(model.parameters()))
