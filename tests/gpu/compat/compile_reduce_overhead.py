"""torch.compile(mode="reduce-overhead"): what it compiles is captured into graphs, in training and without gradients."""

import common

torch = common.need_torch()
model = common.perceptron(torch, 256, 3, bias=False)
compiled = torch.compile(model, mode="reduce-overhead")


def forward(x):
    torch.compiler.cudagraph_mark_step_begin()
    return compiled(x)


losses = common.steps(common.training(torch, model, (128, 256), forward), 15)
with torch.no_grad():
    for _ in range(4):
        x = torch.randn(128, 256, device="cuda")
        torch.testing.assert_close(forward(x).clone(), model(x), rtol=1e-3, atol=1e-3)
common.done(losses, list(model.parameters()))
