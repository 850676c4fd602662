"""Parameters in shards on two GPUs (fully_shard); started by torch.distributed.run."""

import os

import common

torch = common.need_torch()
import torch.distributed as distributed

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    common.absent("fully_shard")
distributed.init_process_group("nccl")
model = common.perceptron(torch, 1024)
for part in model:
    if list(part.parameters()):
        fully_shard(part)
fully_shard(model)
torch.manual_seed(rank)
losses = common.steps(common.training(torch, model, (128, 1024)), 20)
total = torch.tensor(losses, device="cuda", dtype=torch.float64)
distributed.all_reduce(total)
whole = [parameter.full_tensor() for parameter in model.parameters()]
if rank == 0:
    common.done(total, whole)
distributed.destroy_process_group()
