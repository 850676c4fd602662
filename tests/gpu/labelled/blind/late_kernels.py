"""Each round calls an operation that the program has not used before, so that its code is loaded in the middle of the loop.

By the documentation that is loading, or long launches, which `gpushim-report launch` has; so it may be named here, and need not."""
import torch

x = torch.rand(1 << 22, device="cuda") + 0.5
torch.cuda.synchronize()
OPERATIONS = ["erf", "erfinv", "digamma", "lgamma", "asinh", "acosh", "atanh", "cosh", "sinh", "tan", "log1p", "expm1", "sinc", "i0",
              "frac", "trunc", "logit", "exp2", "log2", "rsqrt", "erfc", "sign"]
total = torch.zeros((), device="cuda")
for name in OPERATIONS:
    for _ in range(20):
        x.mul_(1.0)
    total += getattr(torch, name)(x)[0]  # may: module-loading
torch.cuda.synchronize()
