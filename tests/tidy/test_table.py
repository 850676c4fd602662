#!/usr/bin/env python3
"""The table of intercepted functions against the CUDA headers and the library.

Every version of a listed driver name from 3020 on has a row (older ones have 32-bit device pointers), per-thread-stream
twins too; every cuMem* function that makes memory, maps it or gives it back is listed; what the runtime's twins are is
asked of the header; and each row is an exported entry."""
import os
import re
import subprocess
import sys

TOP = os.environ["TOP"]
BUILD = os.environ["BUILD"]
CUDA = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
OLDEST = 3020
MEMORY = re.compile(r"cu(Mem|GraphAddMem)\w*"
                    r"(Alloc|Free|Create|Destroy|Release|Reserve|Map|Unmap|Import|Export|Retain|Register)")
NOT_MEMORY = {"cuMemMapArrayAsync"}  # backs tiles of sparse arrays with memory that cuMemCreate made
RUNTIME = """cudaMalloc cudaFree cudaMallocAsync cudaFreeAsync cudaMallocFromPoolAsync cudaHostAlloc cudaMallocHost
    cudaFreeHost cudaLaunchKernel __cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel cudaMemcpy
    cudaMemcpyAsync cudaMemset cudaMemsetAsync cudaEventRecord cudaStreamWaitEvent cudaStreamSynchronize
    cudaEventSynchronize cudaDeviceSynchronize cudaGraphLaunch cudaMemGetInfo cudaGetDevice cudaMemPoolSetAttribute
    cudaMemPoolGetAttribute cudaMemPoolTrimTo cudaMemPoolSetAccess cudaDeviceGetDefaultMemPool cudaDeviceSetMemPool
    cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion""".split()
count = 0
failed = False


def check(name, offences):
    global count, failed
    count += 1
    failed |= bool(offences)
    print(f"{'not ok' if offences else 'ok'} {count} - {name}")
    for offence in sorted(offences):
        print("#", offence)


def header(name):
    with open(f"{CUDA}/include/{name}") as file:
        return file.read()


def table(name, macro, columns):
    version = re.search(r"#define CUDA_VERSION (\d+)", header("cuda.h"))[1]
    text = (f"#define CUDA_VERSION {version}\n#define CUDART_VERSION {version}\n#define {macro} @ {columns} @\n"
            f'#include "shim/api/{name}.def"\n')
    done = subprocess.run([*os.environ.get("CC", "gcc").split(), "-E", "-P", f"-I{TOP}", "-"], input=text, capture_output=True,
                          text=True, check=True)
    return [row.split() for row in re.findall(r"@([^@]*)@", done.stdout)]


driver = table("driver", "DRV(symbol, name, since, suffix, ...)", "symbol name since suffix")
runtime = [row[0] for row in table("runtime", "RT(symbol, ...)", "symbol")]
rows = {(row[1], int(row[2]), row[3] if len(row) > 3 else "") for row in driver}
names = {name for name, _, _ in rows}
types = {(name, int(since), suffix)
         for name, since, suffix in re.findall(r"PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds|)\)", header("cudaTypedefs.h"))}

check("enough types were found in cudaTypedefs.h", [] if len(types) > 500 else [f"only {len(types)}"])
check("H26 every version of a listed name has a row",
      [f"{name} {since} {suffix}" for name, since, suffix in types - rows if name in names and since >= OLDEST])
check("a listed name without newer versions has its oldest row", names - {name for name, _, _ in rows & types})
check("every cuMem* function that makes or frees memory is listed",
      {name for name, _, _ in types if MEMORY.match(name)} - names - NOT_MEMORY)
check("runtime functions that must be listed are", set(RUNTIME) - set(runtime))
twins = {f"{name}_{suffix.lower()}" for name, suffix in
         re.findall(r"#define\s+(cuda\w+)\s+__CUDART_API_(PTSZ|PTDS)\(", header("cuda_runtime_api.h"))}
check("H16 every listed runtime function has its twin",
      [twin for twin in twins if twin[:-5] in runtime and twin not in runtime])
exported = subprocess.run(["nm", "-D", "--defined-only", f"{BUILD}/libgpushim.so"], capture_output=True, text=True,
                          check=True).stdout.split()
check("each row is exported", [symbol for symbol in [row[0] for row in driver] + runtime if symbol not in exported])
print(f"1..{count}")
sys.exit(failed)
