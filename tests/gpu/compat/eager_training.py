"""The transformer of tests/gpu/transformer.py, wider, in fp32 and bf16, with sizes that vary; every loss counts."""

import os
import sys

import common

torch = common.need_torch()
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import transformer

transformer.WIDTH = 512
model = transformer.Transformer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
losses = common.steps(lambda number: transformer.train_step(model, optimizer, number), 40)
common.done(losses, list(model.parameters()))
