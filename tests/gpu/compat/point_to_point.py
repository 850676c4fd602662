"""send, recv and batches of both between two GPUs, in buffers of many sizes; started by torch.distributed.run."""

import os

import common

torch = common.need_torch()
import torch.distributed as distributed

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
distributed.init_process_group("nccl")
other, kept = 1 - rank, []
for number in range(30):
    mine = torch.full((1 << (4 + number % 16),), float(number + 100 * rank), device="cuda")
    theirs = torch.empty_like(mine)
    if number % 2 == 0:
        work = [distributed.P2POp(distributed.isend, mine, other), distributed.P2POp(distributed.irecv, theirs, other)]
        for request in distributed.batch_isend_irecv(work):
            request.wait()
    elif rank == 0:
        distributed.send(mine, other)
        distributed.recv(theirs, other)
    else:
        distributed.recv(theirs, other)
        distributed.send(mine, other)
    assert bool((theirs == number + 100 * other).all()), number
    kept.append(theirs.sum())
if rank == 0:
    common.done(kept)
distributed.destroy_process_group()
