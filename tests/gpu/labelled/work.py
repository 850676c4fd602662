"""Work for the labelled programs: a model, a batch, and something that keeps the device busy for about a millisecond."""
import torch

STEPS = 40


def busy(x):
    for _ in range(8):
        x = torch.tanh(x @ x)
    return x


def square():
    return torch.rand(2048, 2048, device="cuda") / 2048


def model():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
              torch.nn.Linear(1024, 16)]
    return torch.nn.Sequential(*layers).cuda()


def batch():
    return torch.randn(4096, 1024, device="cuda"), torch.randint(16, (4096,), device="cuda")


def train(step, steps=STEPS):
    """A training loop; step(loss, number) is called after each step."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    inputs, labels = batch()
    for number in range(steps):
        loss = torch.nn.functional.cross_entropy(net(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step(loss, number)
