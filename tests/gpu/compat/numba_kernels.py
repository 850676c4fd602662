"""Numba: kernels with shared memory and atomics on whole numbers, streams, pinned and mapped arrays."""

import common

common.need("numba")
import numpy

if not hasattr(numpy, "row_stack"):  # gone from NumPy 2.5, and numba-cuda still asks for it
    numpy.row_stack = numpy.vstack
cuda = common.need("numba.cuda")
import numba

if not cuda.is_available():
    common.absent("numba-cuda")


@cuda.jit
def axpy(y, x, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


@cuda.jit
def count(bins, values):
    mine = cuda.shared.array(16, numba.int32)
    if cuda.threadIdx.x < 16:
        mine[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(mine, values[i] % 16, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 16:
        cuda.atomic.add(bins, cuda.threadIdx.x, mine[cuda.threadIdx.x])


values = numpy.arange(100_000, dtype=numpy.int32) * 7 % 1003
stream = cuda.stream()
results = []
for number in range(10):
    x = cuda.to_device(values.astype(numpy.float32), stream=stream)
    y = cuda.device_array_like(x, stream=stream)
    y.copy_to_device(numpy.zeros(values.size, numpy.float32), stream=stream)
    axpy[(values.size + 255) // 256, 256, stream](y, x, numpy.float32(number))
    bins = cuda.to_device(numpy.zeros(16, numpy.int32), stream=stream)
    count[(values.size + 127) // 128, 128, stream](bins, cuda.to_device(values, stream=stream))
    stream.synchronize()
    assert (bins.copy_to_host() == numpy.bincount(values % 16, minlength=16)).all()
    assert (y.copy_to_host() == values.astype(numpy.float32) * number).all()
    results.append(y.copy_to_host())
pinned = cuda.pinned_array(1000, numpy.float32)
pinned[:] = 3
z = cuda.to_device(pinned)
axpy[4, 256](z, z, numpy.float32(2))
results.append(z.copy_to_host())
assert (results[-1] == 9).all()
common.done(results)
