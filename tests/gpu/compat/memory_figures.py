"""What PyTorch says of memory, and the limit that one can give it. Figures depend on the allocator, so they are checked, and
are no part of the result."""

import common

torch = common.need_torch()
cuda, MIB = torch.cuda, 1 << 20

free, total = cuda.mem_get_info()
assert 0 < free <= total
start = cuda.memory_allocated()
tensors = [torch.zeros(size * MIB, dtype=torch.uint8, device="cuda") for size in (1, 3, 30, 200)]
held = cuda.memory_allocated() - start
assert 234 * MIB <= held < 245 * MIB, held
assert cuda.memory_reserved() >= held and cuda.max_memory_allocated() >= held
stats = cuda.memory_stats()
assert stats["allocated_bytes.all.current"] == cuda.memory_allocated()
assert cuda.memory_summary()
sums = [int(tensor.sum()) for tensor in tensors]
tensors.clear()
cuda.synchronize()
assert cuda.memory_allocated() - start < MIB
cuda.empty_cache()
assert cuda.memory_reserved() < 100 * MIB, cuda.memory_reserved()
cuda.reset_peak_memory_stats()
assert cuda.max_memory_allocated() - start < MIB

cuda.set_per_process_memory_fraction(0.02)
most = int(total * 0.02)
refused = 0
try:
    torch.empty(most + 64 * MIB, dtype=torch.uint8, device="cuda")
except cuda.OutOfMemoryError:
    refused = 1
assert refused, "more than the fraction was given"
tensors = [torch.full((most // 8,), 7, dtype=torch.uint8, device="cuda") for _ in range(4)]
# A sum in whole numbers of another type first makes a copy of what it sums.
sums += [sum(int(part.sum(dtype=torch.int64)) for part in tensor.split(16 * MIB)) for tensor in tensors]
common.done(sums, refused)
