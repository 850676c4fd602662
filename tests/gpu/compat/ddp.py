"""DistributedDataParallel on two GPUs; started by torch.distributed.run."""

import os

import common

torch = common.need_torch()
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
distributed.init_process_group("nccl")
model = DistributedDataParallel(common.perceptron(torch, 1024), device_ids=[rank])
torch.manual_seed(rank)
losses = common.steps(common.training(torch, model, (128, 1024)), 30)
total = torch.tensor(losses, device="cuda", dtype=torch.float64)
distributed.all_reduce(total)
if rank == 0:
    common.done(total, list(model.parameters()))
distributed.destroy_process_group()
