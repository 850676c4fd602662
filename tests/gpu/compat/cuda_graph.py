"""A whole training step captured and replayed, and a second graph that shares the memory of the first."""

import common

torch = common.need_torch()
model = common.perceptron(torch)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 512, device="cuda")


def train():
    optimizer.zero_grad(set_to_none=True)
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        train()
torch.cuda.current_stream().wait_stream(stream)

graph, more = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train()
with torch.no_grad(), torch.cuda.graph(more, pool=graph.pool()):
    y = model(x)


def step(_):
    x.copy_(torch.randn(64, 512, device="cuda"))
    graph.replay()
    value = loss.item()
    more.replay()
    return value, y.sum().item()


results = common.steps(step, 40)
with torch.no_grad():
    torch.testing.assert_close(y, model(x))
common.done(results, list(model.parameters()))
