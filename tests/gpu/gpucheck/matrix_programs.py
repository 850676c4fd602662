"""The rows of the matrix. Each is a program of tests/gpu/compat, or one that other rows of gpu-check run, too."""

import os
import sys

from gpucheck import machine
from gpucheck.matrix import Program, register

PROGRAMS = {}
FOLDER = os.path.join(machine.ROOT, "tests", "gpu", "compat")
COMPILER_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def add(name, title, command, timed=False, **named):
    PROGRAMS[name] = Program(name, title, command, **named)
    register(PROGRAMS[name], timed)


def python(name, title, script=None, words=(), **named):
    """compat/NAME.py, dashes as underlines, or another script of tests/gpu."""
    path = machine.script(script or f"compat/{name.replace('-', '_')}.py")
    add(name, title, path + list(words), **named)


def ranks(name, title, count, **named):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    script = os.path.join(FOLDER, name.replace("-", "_") + ".py")
    add(name, title, [*launcher, script], limit_s=120, seconds=14, **named)


def native(name, title, *path, words=(), **named):
    """build/gpu/compat/NAME, or another program in build/gpu."""
    program = machine.built("gpu", *(path or ("compat", name)))
    named = {"seconds": 2, "limit_s": 60, "environment": machine.libraries_found(), **named}
    add(name, title, [program, *words], **named)


def launched(name, title, words, script=None, **named):
    """A shell script of compat, NAME.sh or another; it gets the words."""
    named = {"seconds": 4, "limit_s": 90, "environment": machine.libraries_found(), **named}
    add(name, title, ["bash", os.path.join(FOLDER, (script or name) + ".sh"), *words], **named)


STATIC, SHARED = machine.built("gpu", "vec_static"), machine.built("gpu", "vec_shared")

# --- PyTorch ------------------------------------------------------------------------------------------------------

python("eager-training", "PyTorch, eager training", timed=True)
python("amp-fp16", "autocast and GradScaler, fp16")
python("fp8", "FP8 (`torch._scaled_mm`)")
python("checkpointing", "activation checkpointing")
python("dataloader", "DataLoader with workers and pinned memory")
python("compile-default", "`torch.compile`", limit_s=180, seconds=25, own_folders=COMPILER_CACHES)
python("compile-reduce-overhead", "`torch.compile`, reduce-overhead", limit_s=180, seconds=25, own_folders=COMPILER_CACHES)
python("cuda-graph", "`torch.cuda.CUDAGraph`", timed=True)
python("graphed-callables", "`make_graphed_callables`")
python("cpp-extension", "custom C++ extension", limit_s=240, seconds=20, own_folders=("TORCH_EXTENSIONS_DIR",))
python("tensors-to-processes", "`torch.multiprocessing`, CUDA tensors", seconds=15)
ranks("ddp", "DDP, two GPUs", 2, gpus=2)
ranks("fsdp", "FSDP, two GPUs", 2, gpus=2)
ranks("point-to-point", "`torch.distributed`, point to point", 2, gpus=2)
ranks("nccl-alone", "NCCL, one rank", 1)
python("pluggable-allocator", "`CUDAPluggableAllocator` of gpushim", environment={"GPUSHIM_LIBRARY": machine.SHIM})
python("mem-pool", "`torch.cuda.MemPool`")
python(
    "expandable-segments",
    "`expandable_segments:True`",
    script="compat/eager_training.py",
    environment={"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
)
python("torch-profiler", "`torch.profiler`")
python("memory-history", "`_record_memory_history`")
python("memory-figures", "`memory_stats`, `mem_get_info`, `empty_cache`, memory fraction")
python("streams", "side streams, `record_stream`, events", script="compat/side_streams.py")
python("generate-dynamic", "transformers `generate`, dynamic cache", timed=True)
python("generate-static", "transformers `generate`, static cache", limit_s=240, seconds=40, own_folders=COMPILER_CACHES)
python("sentence-transformers", "sentence-transformers", script="compat/sentence_embeddings.py", seconds=12)
python("torchvision-sizes", "torchvision training, several resolutions", timed=True)
python("pyg", "PyTorch Geometric")
python("triton", "Triton", script="triton_kernel.py", own_folders=("TRITON_CACHE_DIR",))

# --- other frameworks ---------------------------------------------------------------------------------------------

python("jax-training", "JAX, jit training", timed=True)
python("cupy", "CuPy: pool, no pool, stream-ordered pool", script="cupy_script.py")
python("numba", "Numba", script="compat/numba_kernels.py")
python("onnxruntime", "ONNX Runtime", script="compat/onnx_session.py")
python("cuda-python", "cuda-python")

# --- C and CUDA ---------------------------------------------------------------------------------------------------

native("static-cudart", "static cudart", "vec_static")
native("shared-cudart", "shared cudart", "vec_shared")
native("copies", "shared cudart, from C without kernels")
native("per-thread-streams", "per-thread default streams", "vec_ptds")
native("driver-api", "driver API", "drv_api")
native("cublas", "cuBLAS", "cublas_gemm")
native("cublaslt", "cuBLASLt")
native("cufft", "cuFFT")
native("cusolver", "cuSOLVER")
native("cusparse", "cuSPARSE")
native("nvrtc", "NVRTC")
native("cooperative", "cooperative groups")
native("dynamic", "dynamic parallelism")
native("managed", "managed memory")
native("mapped", "mapped memory")
native("texture", "textures")
native("contexts", "several contexts and threads")
launched("processes", "several processes on one GPU", [STATIC, SHARED, machine.built("gpu", "drv_api")])

# --- tools --------------------------------------------------------------------------------------------------------

launched("compute-sanitizer", "compute-sanitizer", [SHARED], limit_s=180, seconds=15)
launched("cuda-gdb", "cuda-gdb, attached", [machine.built("gpu", "compat", "linger")], seconds=10, seen=False)
launched("ncu", "Nsight Compute", [SHARED], limit_s=180, seconds=20)
launched("jemalloc", "jemalloc, before and after", ["libjemalloc.so.2", SHARED], script="beside")
launched("tcmalloc", "tcmalloc, before and after", ["libtcmalloc_minimal.so.4", SHARED], script="beside")
OTHER = machine.built("tests", "preload", "lib_tool_malloc.so")
launched("other-preloader", "another CUDA preloader, before and after", [OTHER, SHARED], script="beside")

# --- launchers ----------------------------------------------------------------------------------------------------

launched("shells", "bash in bash, a pipe, `exec`", [STATIC])
ranks("torchrun", "torchrun, two ranks on one GPU", 2)
launched("mpirun", "mpirun", [STATIC])
launched("slurm", "what `srun` sets", [STATIC])
launched("setuid", "a setuid program (must ignore gpushim)", [STATIC], seen=False)
