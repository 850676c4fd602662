"""Mixed precision in fp16: autocast, and a GradScaler that has to step back once."""

import common

torch = common.need_torch()
model = common.perceptron(torch, 1024)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**20)


def step(number):
    x = torch.randn(512, 1024, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = (model(x) - x.flip(-1)).square().mean() * (1e4 if number == 5 else 1)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return loss.item(), scaler.get_scale()


results = common.steps(step, 40)
assert any(later[1] < earlier[1] for earlier, later in zip(results, results[1:])), "the scaler never stepped back"
common.done(results, list(model.parameters()))
