"""Two ranks on one GPU, which sum tensors by way of the host (gloo); started by torch.distributed.run."""

import common

torch = common.need_torch()
import torch.distributed as distributed

torch.cuda.set_device(0)
distributed.init_process_group("gloo")
rank = distributed.get_rank()
model = common.perceptron(torch)
torch.manual_seed(rank)
step = common.training(torch, model, (64, 512))
losses = []
for number in range(10):
    losses.append(step(number))
    for parameter in model.parameters():
        distributed.all_reduce(parameter.data)
        parameter.data /= 2
every = [None, None]
distributed.all_gather_object(every, losses)
if rank == 0:
    common.done(every, list(model.parameters()))
distributed.destroy_process_group()
