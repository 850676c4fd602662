/* One call of each function of the table that copies, plain and twin, each of a size of its own. Prints "NAME BYTES" of
 * each; what the shim has noted of them is in the snapshot. Functions that the simulated driver has not are called all
 * the same: what a call copies is noted before the driver is asked. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/cuda.h"
#include "tests/preload/need.h"

#define DRV(symbol, name, since, suffix, handler, parameters, ...) CUresult symbol parameters;
#include "shim/api/driver.def"
#undef DRV

enum { ROWS = 3, SLICES = 2, ROOM_BYTES = 1 << 16 };

/* Named as the table names them; the sizes of shapes are those of their only row, or of all. */
static CUdeviceptr dst, src, dstDevice, srcDevice;
static void *dstHost;
static const void *srcHost, *pCopy;
static CUcontext dstContext, srcContext;
static CUarray dstArray, srcArray;
static size_t ByteCount, dstOffset, srcOffset;
static CUstream hStream;

/* From the host to the device; between devices for the functions that say so. */
static void shape_new(const char *name)
{
	static CUDA_MEMCPY2D plane;
	static CUDA_MEMCPY3D space;
	static CUDA_MEMCPY3D_PEER peer;

	plane = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
				.srcHost = srcHost,
				.dstMemoryType = CU_MEMORYTYPE_DEVICE,
				.dstDevice = dstDevice,
				.WidthInBytes = ByteCount,
				.Height = ROWS};
	space = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				.srcDevice = srcDevice,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = dstHost,
				.WidthInBytes = ByteCount,
				.Height = ROWS,
				.Depth = SLICES};
	peer = (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = srcDevice,
				    .srcContext = srcContext,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = dstDevice,
				    .dstContext = dstContext,
				    .WidthInBytes = ByteCount,
				    .Height = ROWS,
				    .Depth = SLICES};
	pCopy = strstr(name, "3DPeer") != NULL ? (const void *)&peer
		: strstr(name, "3D") != NULL   ? (const void *)&space
					       : &plane;
}

static void row(const char *name, CUresult (*call)(void))
{
	ByteCount += 8;
	shape_new(name);
	call();
	NEED(cuCtxSynchronize());
	printf("%s %zu\n", name, ByteCount);
}

#define CALL_COPY(symbol, arguments)                                                                                   \
	static CUresult call_##symbol(void)                                                                            \
	{                                                                                                              \
		return symbol arguments;                                                                               \
	}
#define CALL_PASS(symbol, arguments)
#define CALL_SET(symbol, arguments)
#define CALL_HOOK(symbol, arguments)
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	CALL_##disposition(symbol, arguments)
#include "shim/api/driver.def"
#undef DRV

int main(void)
{
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&dstContext, 0, 0));
	srcContext = dstContext;
	NEED(cuStreamCreate(&hStream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc_v2(&dstDevice, ROOM_BYTES));
	NEED(cuMemAlloc_v2(&srcDevice, ROOM_BYTES));
	NEED(cuMemAllocHost_v2(&dstHost, ROOM_BYTES));
	srcHost = dstHost;
	dst = (CUdeviceptr)(uintptr_t)dstHost;
	src = srcDevice;
#define ROW_COPY(symbol) row(#symbol, call_##symbol);
#define ROW_PASS(symbol)
#define ROW_SET(symbol)
#define ROW_HOOK(symbol)
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	ROW_##disposition(symbol)
#include "shim/api/driver.def"
#undef DRV
	return 0;
}
