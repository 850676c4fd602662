"""What goes from one GPU to another over memory that gpushim serves: two_devices.py NAME runs one case and prints ok, or
raises. Needs two GPUs."""

import ctypes
import os
import sys

import torch


def peer():
    """Copies both ways, and kernels that read the other device's memory, allocated before and after access was given."""
    for number in range(50):
        x = torch.randn(1 << 20, device="cuda:%d" % (number % 2))
        y = x.to("cuda:%d" % ((number + 1) % 2))
        assert torch.equal(x.cpu(), y.cpu())
    a = torch.arange(1 << 20, device="cuda:0", dtype=torch.float32)
    assert torch.equal((a.to("cuda:1") * 2).to("cuda:0"), a * 2)


def wrong_device():
    """cudaFree and cudaFreeAsync while the other device is the current one, and by a thread that has used neither."""
    import threading

    runtime = ctypes.CDLL("libcudart.so.13")
    free, total = ctypes.c_size_t(), ctypes.c_size_t()

    def call(name, *arguments):
        status = getattr(runtime, name)(*arguments)
        assert status == 0, f"{name} gives {status}"

    def allocate(device, size):
        address = ctypes.c_void_p()
        call("cudaSetDevice", device)
        call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(size))
        call("cudaMemset", address, 7, ctypes.c_size_t(size))
        return address

    def check(address, size):
        host = (ctypes.c_ubyte * size)()
        call("cudaMemcpy", host, address, ctypes.c_size_t(size), 2)
        assert bytes(host) == b"\x07" * size

    for device in (0, 1):
        for _ in range(100):
            victim, neighbour = allocate(device, 1 << 20), allocate(device, 1 << 16)
            call("cudaSetDevice", 1 - device)
            call("cudaFree", victim)
            check(neighbour, 1 << 16)
            call("cudaFree", neighbour)
        last = allocate(device, 1 << 20)
        thread = threading.Thread(target=lambda: call("cudaFree", last))
        thread.start()
        thread.join()
        assert runtime.cudaFree(last) != 0, "freed twice"
    call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))


def receive(queue, done):
    x = queue.get()
    assert int(x.sum()) == 499500
    y = x.to("cuda:1")
    assert torch.equal(y.cpu(), x.cpu())
    x.fill_(3)
    torch.cuda.synchronize(0)
    done.set()
    del x


def processes():
    """A tensor of one process is read by another, which copies it to the other GPU and writes to it."""
    import torch.multiprocessing as multiprocessing

    context = multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    x = torch.arange(1000, device="cuda:0")
    child = context.Process(target=receive, args=(queue, done))
    child.start()
    queue.put(x)
    assert done.wait(120), "the other process did not get the tensor"
    child.join(60)
    assert child.exitcode == 0
    assert int(x.sum()) == 3000


def all_reduce():
    """One of two ranks, started by torch.distributed.run: sums over NCCL in buffers of many sizes."""
    import torch.distributed as distributed

    distributed.init_process_group("nccl")
    rank = distributed.get_rank()
    torch.cuda.set_device(rank)
    for number in range(60):
        tensor = torch.full((1 << (6 + number % 18),), float(rank + 1 + number), device="cuda")
        distributed.all_reduce(tensor)
        assert (tensor == 3 + 2 * number).all(), tensor
    distributed.destroy_process_group()
    if rank != 0:
        os._exit(0)


CASES = {case.__name__: case for case in (peer, wrong_device, processes, all_reduce)}

if __name__ == "__main__":
    if torch.cuda.device_count() < 2:
        print("one GPU")
        sys.exit(77)
    CASES[sys.argv[1]]()
    print("ok")
