"""torch.compile: its pointwise kernels in training; sums are left to PyTorch, since the compiler tries several ways to
add and takes the fastest."""

import common

torch = common.need_torch()
model = common.perceptron(torch, 256, 3, bias=False)
compiled = torch.compile(model)
losses = common.steps(common.training(torch, model, (128, 256), compiled), 15)
with torch.no_grad():
    x = torch.randn(128, 256, device="cuda")
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-3, atol=1e-3)
common.done(losses, list(model.parameters()))
