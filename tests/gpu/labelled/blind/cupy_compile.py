"""CuPy compiles and loads a kernel of its own for each step, since a number is part of its text."""
import cupy as cp

TEXT = 'extern "C" __global__ void scale(float *x, int n) { int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) x[i] *= %d.0f; }'
x = cp.ones(1 << 22, dtype=cp.float32)
for step in range(20):
    kernel = cp.RawKernel(TEXT % (step + 2), "scale")
    for _ in range(10):
        x += 1
    kernel((x.size // 256,), (256,), (x, cp.int32(x.size)))  # finds: module-loading
cp.cuda.Device().synchronize()
