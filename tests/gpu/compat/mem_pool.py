"""torch.cuda.MemPool: tensors in a pool of their own, in two of them, and a graph captured into one."""

import common

torch = common.need_torch()
pools = [torch.cuda.MemPool(), torch.cuda.MemPool()]
kept = []
for number in range(20):
    with torch.cuda.use_mem_pool(pools[number % 2]):
        x = torch.full((1000 * (number + 1),), float(number), device="cuda")
    kept.append(x * 2)
    del x
assert all(float(x[0]) == 2 * number for number, x in enumerate(kept))
common.done(kept)
