"""gpushim's memory where PyTorch asks for it by name.

    allocators.py pluggable LIBRARY   the library as CUDAPluggableAllocator: the training of transformer.py, step by step,
                                      then what gpushim_stats says of tensors of known sizes
    allocators.py figures             under torch:serve: torch.cuda.memory_allocated, memory_reserved, their peaks and
                                      empty_cache, of tensors of known sizes

Prints what it found as one JSON line at the end, and fails if a figure is wrong."""

import ctypes
import gc
import json
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

MIB = 1 << 20
SIZES = [512, 1 * MIB, 3 * MIB + 512, 20 * MIB, 300 * MIB]


class Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "allocated_bytes", "allocated_peak_bytes", "reserved_bytes", "reserved_peak_bytes", "pending_bytes",
        "idle_bytes", "allocations", "frees", "hits", "grows")]


def stats(shim):
    figures = Stats()
    status = shim.gpushim_stats(0, ctypes.byref(figures), ctypes.c_size_t(ctypes.sizeof(figures)))
    assert status == 0, f"gpushim_stats: {status}"
    return figures


def tensors():
    return [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]


def wanted(what, got, right):
    assert right, f"{what}: {got}"
    return got


def pluggable(library):
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "gpushim_torch_malloc", "gpushim_torch_free")
    torch.cuda.memory.change_current_allocator(allocator)
    import transformer

    sys.argv = ["transformer.py"]
    transformer.main()
    gc.collect()
    torch.cuda.synchronize()
    shim = ctypes.CDLL(library)
    before = stats(shim)
    held = tensors()
    during = stats(shim)
    del held
    after = stats(shim)
    return {
        "allocated": wanted("allocated", during.allocated_bytes - before.allocated_bytes,
                            during.allocated_bytes - before.allocated_bytes == sum(SIZES)),
        "freed": wanted("freed", during.allocated_bytes - after.allocated_bytes,
                        after.allocated_bytes == before.allocated_bytes),
        "peak": wanted("peak", after.allocated_peak_bytes, after.allocated_peak_bytes >= during.allocated_bytes),
        "reserved": wanted("reserved", during.reserved_bytes, during.reserved_bytes >= during.allocated_bytes),
        "allocations": wanted("allocations", during.allocations, during.allocations > 1000),
    }


def figures():
    cuda = torch.cuda
    assert cuda.get_allocator_backend() == "cudaMallocAsync", cuda.get_allocator_backend()
    torch.empty(1, device="cuda")
    cuda.synchronize()
    cuda.empty_cache()
    start = cuda.memory_allocated()
    held = tensors()
    during, reserved = cuda.memory_allocated(), cuda.memory_reserved()
    del held
    cuda.synchronize()
    end, peak, reserved_peak = cuda.memory_allocated(), cuda.max_memory_allocated(), cuda.max_memory_reserved()
    found = {
        "allocated": wanted("memory_allocated", during - start, during - start == sum(SIZES)),
        "reserved": wanted("memory_reserved", reserved, during <= reserved < during + 64 * MIB),
        "freed": wanted("memory_allocated after all", end, end == start),
        "peak": wanted("max_memory_allocated", peak, peak == during),
        "reserved_peak": wanted("max_memory_reserved", reserved_peak, reserved_peak >= reserved),
    }
    cuda.empty_cache()
    found["after_empty_cache"] = wanted("memory_reserved after empty_cache", cuda.memory_reserved(),
                                        cuda.memory_reserved() < 64 * MIB)
    cuda.reset_peak_memory_stats()
    found["peak_after_reset"] = wanted("max_memory_allocated after a reset", cuda.max_memory_allocated(),
                                       cuda.max_memory_allocated() == cuda.memory_allocated())
    found["reserved_peak_after_reset"] = wanted("max_memory_reserved after a reset", cuda.max_memory_reserved(),
                                                cuda.max_memory_reserved() < 64 * MIB)
    return found


if __name__ == "__main__":
    print(json.dumps(pluggable(sys.argv[2]) if sys.argv[1:2] == ["pluggable"] else figures()))
