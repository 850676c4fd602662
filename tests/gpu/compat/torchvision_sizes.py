"""A ResNet trained on pictures whose size changes from step to step."""

import common

torch = common.need_torch()
torchvision = common.need("torchvision")
model = torchvision.models.resnet18(weights=None, num_classes=10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def step(number):
    size = (96, 128, 160, 224, 64)[number % 5]
    pictures = torch.randn(16, 3, size, size, device="cuda")
    labels = torch.randint(0, 10, (16,), device="cuda")
    loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


common.done(common.steps(step, 25), list(model.state_dict().values()))
