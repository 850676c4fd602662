"""CuPy: a raw kernel, array arithmetic, a reduction, its memory pool with and without the pool, a stream-ordered pool;
every result checked. CuPy finds the driver and the runtime by dlopen and dlsym."""

import cupy
import numpy

AXPY = cupy.RawKernel(
    r"""
    extern "C" __global__ void axpy(float *y, const float *x, float a, int count) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < count) y[i] += a * x[i];
    }""",
    "axpy",
)


def work():
    count = 50_000
    host = numpy.arange(count, dtype=numpy.float32) % 100
    x = cupy.asarray(host)
    y = cupy.zeros(count, dtype=cupy.float32)
    for _ in range(20):
        AXPY(((count + 255) // 256,), (256,), (y, x, numpy.float32(3), numpy.int32(count)))
    assert (cupy.asnumpy(y) == host * 60).all()
    assert int((x + 1).sum(dtype=cupy.float64)) == int(host.sum(dtype=numpy.float64)) + count
    assert cupy.asnumpy(cupy.sort(x)[::-1])[0] == 99


def main():
    work()
    cupy.cuda.set_allocator(None)
    work()
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    work()
    cupy.cuda.set_allocator(None)
    cupy.cuda.get_current_stream().synchronize()
    print(f"ok three allocators, cupy {cupy.__version__}")


if __name__ == "__main__":
    main()
