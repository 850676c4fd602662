"""cuda-python: a kernel compiled by NVRTC and launched through the driver's functions, all from Python."""

import ctypes

import common

driver = common.need("cuda.bindings.driver")
nvrtc = common.need("cuda.bindings.nvrtc")
import numpy

SOURCE = b"""extern "C" __global__ void axpy(float *y, const float *x, float a, int count)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) y[i] += a * x[i]; }"""
COUNT = 50000


def call(function, *arguments):
    status, *results = function(*arguments)
    assert int(status) == 0, f"{function.__name__}: {status}"
    return results[0] if len(results) == 1 else results


call(driver.cuInit, 0)
device = call(driver.cuDeviceGet, 0)
context = call(driver.cuDevicePrimaryCtxRetain, device)
call(driver.cuCtxSetCurrent, context)
major, minor = (
    call(driver.cuDeviceGetAttribute, getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"), device)
    for part in ("MAJOR", "MINOR")
)
program = call(nvrtc.nvrtcCreateProgram, SOURCE, b"axpy.cu", 0, [], [])
call(nvrtc.nvrtcCompileProgram, program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()])
image = b" " * call(nvrtc.nvrtcGetCUBINSize, program)
call(nvrtc.nvrtcGetCUBIN, program, image)
image = numpy.frombuffer(image, numpy.uint8)
module = call(driver.cuModuleLoadData, image.ctypes.data)
kernel = call(driver.cuModuleGetFunction, module, b"axpy")
stream = call(driver.cuStreamCreate, 1)
x = numpy.arange(COUNT, dtype=numpy.float32) % 100
y = numpy.empty_like(x)
for number in range(10):
    memory = [call(driver.cuMemAllocAsync, x.nbytes, stream), call(driver.cuMemAlloc, x.nbytes)]
    call(driver.cuMemcpyHtoDAsync, memory[0], x.ctypes.data, x.nbytes, stream)
    call(driver.cuMemsetD32Async, memory[1], 0, COUNT, stream)
    arguments = ((memory[1], memory[0], float(number), COUNT), (None, None, ctypes.c_float, ctypes.c_int))
    for _ in range(20):
        call(driver.cuLaunchKernel, kernel, (COUNT + 255) // 256, 1, 1, 256, 1, 1, 0, stream, arguments, 0)
    call(driver.cuMemcpyDtoHAsync, y.ctypes.data, memory[1], y.nbytes, stream)
    call(driver.cuStreamSynchronize, stream)
    assert (y == x * 20 * number).all(), number
    call(driver.cuMemFreeAsync, memory[0], stream)
    call(driver.cuMemFree, memory[1])
common.done(y)
