"""make_graphed_callables: forward and backward of two modules as graphs, the rest of the step eager."""

import common

torch = common.need_torch()
first, second = common.perceptron(torch), common.perceptron(torch)
sample = torch.randn(64, 512, device="cuda")
graphed_first, graphed_second = torch.cuda.make_graphed_callables(
    (first, second), ((sample.clone(),), (sample.clone().requires_grad_(),))
)
both = torch.nn.ModuleList([first, second])
step = common.training(torch, both, (64, 512), lambda x: graphed_second(torch.tanh(graphed_first(x))))
losses = common.steps(step, 30)
common.done(losses, list(both.parameters()))
