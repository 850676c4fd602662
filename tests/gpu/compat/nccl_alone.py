"""NCCL with one rank: its kernels, buffers and streams without a second GPU; started by torch.distributed.run."""

import common

torch = common.need_torch()
import torch.distributed as distributed

torch.cuda.set_device(0)
distributed.init_process_group("nccl")
kept = []
for number in range(30):
    x = torch.arange(1 << (4 + number % 16), device="cuda", dtype=torch.float32)
    distributed.all_reduce(x)
    parts = [torch.empty_like(x)]
    distributed.all_gather(parts, x)
    distributed.broadcast(x, 0)
    assert torch.equal(parts[0], x)
    kept.append(x)
common.done(kept)
distributed.destroy_process_group()
