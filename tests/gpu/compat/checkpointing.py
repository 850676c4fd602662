"""Activations are dropped in the forward pass and computed again in the backward one."""

import common

torch = common.need_torch()
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

model = torch.nn.Sequential(*[torch.nn.Sequential(common.perceptron(torch, 512, 2), torch.nn.Dropout(0.1)) for _ in range(6)])


def one_by_one(x):
    for part in model:
        x = checkpoint(part, x, use_reentrant=False)
    return x


first = common.steps(common.training(torch, model, (1024, 512), one_by_one), 20)
second = common.steps(
    common.training(torch, model, (1024, 512), lambda x: checkpoint_sequential(model, 3, x, use_reentrant=False)), 20
)
common.done(first, second, list(model.parameters()))
