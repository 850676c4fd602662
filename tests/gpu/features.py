"""What PyTorch offers and an observer must not break: features.py NAME runs one of them and prints ok, or raises."""

import os
import subprocess
import sys

import torch


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256)).cuda()


def compile_reduce_overhead():
    model = make_model()
    compiled = torch.compile(model, mode="reduce-overhead")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(64, 256, device="cuda")
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        loss = compiled(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x).clone(), model(x), rtol=1e-3, atol=1e-3)


def record_memory_history():
    torch.cuda.memory._record_memory_history(max_entries=1000)
    x = torch.randn(1000, device="cuda")
    snapshot = torch.cuda.memory._snapshot()
    blocks = {block["address"] for segment in snapshot["segments"] for block in segment["blocks"]}
    assert x.data_ptr() in blocks
    assert any(entry["action"] == "alloc" for entry in snapshot["device_traces"][0])


def mem_pool():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = torch.full((1000,), 7.0, device="cuda")
    assert x.sum().item() == 7000
    del x


def cuda_graph():
    model = make_model()
    x = torch.randn(64, 256, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        x.copy_(torch.randn(64, 256, device="cuda"))
        graph.replay()
        torch.testing.assert_close(y, model(x))


def receive_tensor(queue, done):
    x = queue.get()
    if int(x.sum()) == 499500:
        x.fill_(3)
        torch.cuda.synchronize()
        done.set()
    del x


def tensor_to_process():
    import torch.multiprocessing as processes

    context = processes.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    x = torch.arange(1000, device="cuda")
    child = context.Process(target=receive_tensor, args=(queue, done))
    child.start()
    queue.put(x)
    assert done.wait(120), "the other process did not get the tensor"
    child.join(60)
    assert child.exitcode == 0
    assert int(x.sum()) == 3000, "what the other process wrote is not seen here"


def profiler():
    from torch.profiler import ProfilerActivity, profile

    model = make_model()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as result:
        model(torch.randn(64, 256, device="cuda"))
        torch.cuda.synchronize()
    assert any("gemm" in event.name.lower() or "addmm" in event.name for event in result.events())


ALLOCATE_PLAINLY = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert driver.cuCtxSetCurrent(context) == 0
driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
rc = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(sys.argv[1])))
print("asked %d MiB, free %d MiB, rc %d" % (int(sys.argv[1]) >> 20, free.value >> 20, rc))
sys.exit(rc != 0)
"""


def give_back():
    """80 % of the free memory in tensors, empty_cache(), then another process without the shim takes as much."""
    free, _ = torch.cuda.mem_get_info()
    target = free * 8 // 10
    tensors = [torch.empty(target // 16, dtype=torch.uint8, device="cuda") for _ in range(16)]
    for x in tensors:
        x[::4096] = 1
    torch.cuda.synchronize()
    del tensors, x
    torch.cuda.empty_cache()
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    other = subprocess.run(
        [sys.executable, "-c", ALLOCATE_PLAINLY, str(target)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    print(other.stdout.strip(), other.stderr.strip())
    assert other.returncode == 0, "the other process could not allocate"
    assert torch.ones(1000, device="cuda").sum().item() == 1000


FEATURES = [
    compile_reduce_overhead,
    record_memory_history,
    mem_pool,
    cuda_graph,
    tensor_to_process,
    profiler,
    give_back,
]

if __name__ == "__main__":
    {feature.__name__: feature for feature in FEATURES}[sys.argv[1]]()
    print(f"ok {sys.argv[1]}")
