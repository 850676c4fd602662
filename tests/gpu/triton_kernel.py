"""A Triton kernel with a checked result. Triton finds the driver's functions by dlsym and launches through
cuLaunchKernelEx."""

import torch
import triton
import triton.language as tl

LAUNCHES = 50


@triton.jit
def axpy(y, x, a, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    tl.store(y + i, tl.load(y + i, mask=inside) + a * tl.load(x + i, mask=inside), mask=inside)


def main():
    count = 100_003
    x = torch.arange(count, device="cuda", dtype=torch.float32) % 1000
    y = torch.zeros(count, device="cuda")
    for _ in range(LAUNCHES):
        axpy[(triton.cdiv(count, 1024),)](y, x, 2.0, count, BLOCK=1024)
    torch.cuda.synchronize()
    assert torch.equal(y, x * 2 * LAUNCHES)
    print(f"ok {LAUNCHES} launches, triton {triton.__version__}")


if __name__ == "__main__":
    main()
