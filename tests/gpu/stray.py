"""PyTorch at work on three streams, and one kernel of the program's own that writes where nothing is, or an index that is
out of range. The error comes back at a line that has nothing to do with it.

    stray.py write|assert [waited]

Prints the line to blame ("line N") and what came back ("got ..."). waited: all else was waited for before."""

import inspect
import sys

import torch

SOURCE = r"""
extern "C" __global__ void stray_write(float *data, int far) {
    data[((long long)far << 32) + threadIdx.x] = 1.0f;
}
"""


def compile_kernel():
    """The kernel, and its arguments as a function of (tensor, how far away, in units of 16 GiB)."""
    if hasattr(torch.cuda, "_compile_kernel"):
        kernel = torch.cuda._compile_kernel(SOURCE, "stray_write")
        return kernel, lambda tensor, far: ((1, 1, 1), (32, 1, 1), (tensor, far))
    import cupy

    kernel = cupy.RawKernel(SOURCE, "stray_write")
    return kernel, lambda tensor, far: ((1,), (32,), (cupy.from_dlpack(tensor), cupy.int32(far)))


def train(model, data, streams, steps):
    for _ in range(steps):
        for stream in streams:
            with torch.cuda.stream(stream):
                model(data).square().mean().backward()


def plant(kind, kernel, arguments, data):
    print(f"line {inspect.currentframe().f_lineno + 2}")
    if kind == "write":
        kernel(*arguments)
    else:
        print(f"line {inspect.currentframe().f_lineno + 1}")
        data.view(-1)[torch.tensor([1 << 40], device="cuda")]


def main():
    kind, waited = sys.argv[1], sys.argv[2:] == ["waited"]
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256)).cuda()
    data = torch.randn(64, 256, device="cuda")
    streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    kernel, arguments = compile_kernel()
    kernel(*arguments(data, 0))
    train(model, data, streams, 5)
    torch.cuda.synchronize()
    train(model, data, streams, 2)
    if waited:
        for stream in streams:
            stream.synchronize()
    plant(kind, kernel, arguments(data, 256), data)
    if not waited:
        train(model, data, streams[1:], 1)
    try:
        if not waited:
            print(data.sum().item())
        torch.cuda.synchronize()
    except RuntimeError as error:
        print("got", str(error).splitlines()[0])


if __name__ == "__main__":
    main()
