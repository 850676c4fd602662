"""PyTorch Geometric: sums over neighbours in whole numbers, which are exact in any order, and a small network, rounded."""

import common

torch = common.need_torch(deterministic=False)
common.need("torch_geometric")
from torch_geometric.nn import GCNConv, SimpleConv
from torch_geometric.utils import to_undirected

edges = to_undirected(torch.randint(0, 2000, (2, 10000))).cuda()
whole = torch.randint(0, 10, (2000, 32), device="cuda").float()
total = SimpleConv(aggr="sum")(whole, edges)

first, second = GCNConv(32, 64).cuda(), GCNConv(64, 4).cuda()
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
labels = torch.randint(0, 4, (2000,), device="cuda")
losses = []
for _ in range(20):
    loss = torch.nn.functional.cross_entropy(second(first(whole / 10, edges).relu(), edges), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(round(loss.item(), 3))
common.done(total, losses)
