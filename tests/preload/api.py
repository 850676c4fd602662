"""The C API from ctypes, as the README and the manual page say: api.py figures, or api.py torch LIBRARY, which uses the
library as PyTorch's CUDAPluggableAllocator does. Prints what it gets."""
import ctypes
import sys

SIZE = ctypes.c_ssize_t
POINTER = ctypes.c_void_p


class Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "allocated_bytes", "allocated_peak_bytes", "reserved_bytes", "reserved_peak_bytes", "pending_bytes",
        "idle_bytes", "allocations", "frees", "hits", "grows")]


def cudart():
    return ctypes.CDLL("libcudart.so.13")


def figures():
    shim, cuda, stats = ctypes.CDLL(None), cudart(), Stats()
    shim.gpushim_version.restype = ctypes.c_char_p
    shim.gpushim_trim.restype = ctypes.c_uint64
    print("version has dots:", shim.gpushim_version().count(b".") == 2)
    print("nothing to tell yet:", shim.gpushim_stats(0, ctypes.byref(stats), SIZE(ctypes.sizeof(stats))))
    memory, other = POINTER(), POINTER()
    assert cuda.cudaMalloc(ctypes.byref(memory), SIZE(3 << 20)) == 0
    assert cuda.cudaMalloc(ctypes.byref(other), SIZE(5 << 20)) == 0
    assert cuda.cudaFree(other) == 0
    assert cuda.cudaDeviceSynchronize() == 0
    print("stats:", shim.gpushim_stats(0, ctypes.byref(stats), SIZE(ctypes.sizeof(stats))))
    print("live:", stats.allocated_bytes, stats.allocated_peak_bytes, stats.allocations, stats.frees)
    print("held:", stats.reserved_bytes >= 8 << 20, stats.pending_bytes + stats.idle_bytes >= 5 << 20)
    small = Stats(grows=77)
    print("of an older header:", shim.gpushim_stats(0, ctypes.byref(small), SIZE(16)), small.allocated_bytes, small.grows)
    print("nonsense:", shim.gpushim_stats(0, None, SIZE(8)), shim.gpushim_stats(0, ctypes.byref(stats), SIZE(0)),
          shim.gpushim_stats(63, ctypes.byref(stats), SIZE(8)), shim.gpushim_stats(-1, ctypes.byref(stats), SIZE(8)))
    print("reset:", shim.gpushim_reset_peak(0), shim.gpushim_reset_peak(63))
    shim.gpushim_stats(0, ctypes.byref(stats), SIZE(ctypes.sizeof(stats)))
    print("peak:", stats.allocated_peak_bytes)
    print("given back:", shim.gpushim_trim(0, ctypes.c_uint64(0)) >= 4 << 20, shim.gpushim_trim(63, ctypes.c_uint64(0)))
    path = ctypes.create_string_buffer(4096)
    print("snapshot:", shim.gpushim_snapshot(path, SIZE(4096)), path.value.endswith(b".json"))
    with open(path.value, encoding="utf-8") as file:
        print("written:", '"schema"' in file.read())
    print("into nothing:", shim.gpushim_snapshot(path, SIZE(0)))


def torch(library):
    cuda, shim = cudart(), ctypes.CDLL(library)
    shim.gpushim_torch_malloc.restype = POINTER
    shim.gpushim_torch_malloc.argtypes = [SIZE, ctypes.c_int, POINTER]
    shim.gpushim_torch_free.restype = None
    shim.gpushim_torch_free.argtypes = [POINTER, SIZE, ctypes.c_int, POINTER]
    stream = POINTER()
    print("before CUDA:", shim.gpushim_torch_malloc(4096, 0, None))
    assert cuda.cudaSetDevice(0) == 0
    assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
    blocks = [shim.gpushim_torch_malloc(size, 0, stream) for size in (512, 1 << 20, 20 << 20)]
    print("three blocks:", len(set(blocks)), all(blocks))
    for block in blocks:
        assert cuda.cudaMemsetAsync(POINTER(block), 7, SIZE(512), stream) == 0
        shim.gpushim_torch_free(block, 512, 0, stream)
    print("again:", shim.gpushim_torch_malloc(20 << 20, 0, stream) == blocks[2])
    shim.gpushim_torch_free(blocks[2], 20 << 20, 0, stream)
    assert cuda.cudaSetDevice(1) == 0
    assert cuda.cudaFree(None) == 0
    block, device = shim.gpushim_torch_malloc(4096, 0, stream), ctypes.c_int()
    assert cuda.cudaGetDevice(ctypes.byref(device)) == 0
    print("with another device current:", block is not None, device.value)
    shim.gpushim_torch_free(block, 4096, 0, stream)
    print("nonsense:", shim.gpushim_torch_malloc(0, 0, stream), shim.gpushim_torch_malloc(-1, 0, stream),
          shim.gpushim_torch_malloc(4096, 77, stream), shim.gpushim_torch_malloc(1 << 50, 0, stream))
    shim.gpushim_torch_free(None, 0, 0, stream)
    assert cuda.cudaDeviceSynchronize() == 0
    print("last error:", cuda.cudaGetLastError())


if sys.argv[1] == "figures":
    figures()
else:
    torch(sys.argv[2])
