"""A Triton kernel that is tuned for each length, and a new length in each step."""
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 1024) for warps in (2, 8)]


@triton.autotune(configs=CONFIGS, key=["length"])
@triton.jit
def double(source, target, length, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < length
    tl.store(target + at, tl.load(source + at, mask=inside) * 2, mask=inside)


source = torch.ones(1 << 22, device="cuda")
target = torch.empty_like(source)
for step in range(10):
    length = (1 << 20) + 1024 * step

    def grid(meta):
        return (triton.cdiv(length, meta["BLOCK"]),)
    double[grid](source, target, length)  # finds: autotune # may: memory-calls|module-loading|wait-event|wait-device|wait-stream
torch.cuda.synchronize()
