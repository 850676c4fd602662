"""Batches made by worker processes, pinned by a thread, copied without blocking."""

import common

torch = common.need_torch()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(number)
        return torch.randn(512, generator=generator), number


def main():
    model = common.perceptron(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True,
        generator=torch.Generator().manual_seed(7),
    )
    losses, seen = [], 0
    for _ in range(3):
        for x, numbers in loader:
            assert x.is_pinned()
            x = x.to("cuda", non_blocking=True)
            loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            seen += int(numbers.sum())
    assert seen == 3 * 255 * 128
    common.done(losses, list(model.parameters()))


if __name__ == "__main__":
    main()
