"""Two processes get a CUDA tensor of a third one, read it and write to it."""

import common

torch = common.need_torch()


def receive(tensor, rank, written, may_go):
    assert int(tensor.sum()) == 499500
    tensor[rank].fill_(rank + 3)
    torch.cuda.synchronize()
    written.set()
    assert may_go.wait(60)


def main():
    import torch.multiprocessing as processes

    context = processes.get_context("spawn")
    tensor = torch.arange(1000, device="cuda").reshape(2, 500)
    may_go = context.Event()
    for rank in (0, 1):
        written = context.Event()
        before = tensor.clone()
        child = context.Process(target=receive, args=(tensor, rank, written, may_go))
        child.start()
        assert written.wait(60), "the other process did not write"
        assert int(tensor[rank].sum()) == 500 * (rank + 3), "what the other process wrote is not seen here"
        may_go.set()
        child.join(60)
        assert child.exitcode == 0
        may_go.clear()
        common.say(f"ok rank {rank}: {int(tensor.sum())}")
        tensor.copy_(before)
    common.done(tensor)


if __name__ == "__main__":
    main()
