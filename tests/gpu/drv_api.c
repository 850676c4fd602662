/* A driver-API program with known counts: no runtime library, functions bound at load time. */
#include <cuda.h>

#include "tests/gpu/check.h"
#include "tests/gpu/kernels.h"

enum { ROUNDS = 16, COUNT = 10000, BLOCK = 128 };

static int launches;

static void launch(CUfunction axpy, CUdeviceptr y, CUdeviceptr x, CUstream stream)
{
	float a = 2;
	int count = COUNT;
	void *arguments[] = {&y, &x, &a, &count};
	CUlaunchConfig config = {
		.gridDimX = (COUNT + BLOCK - 1) / BLOCK,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = BLOCK,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = stream,
	};

	CHECK(cuLaunchKernel(axpy, config.gridDimX, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL));
	CHECK(cuLaunchKernelEx(&config, axpy, arguments, NULL));
	CHECK(cuLaunchCooperativeKernel(axpy, config.gridDimX, 1, 1, BLOCK, 1, 1, 0, stream, arguments));
	launches += 3;
}

/* Physical memory of the program's own, mapped at an address it reserved. */
static void use_own_mapping(CUdevice device)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	unsigned value = 0;
	size_t bytes;

	CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
	CHECK(cuMemCreate(&handle, bytes, &prop, 0));
	CHECK(cuMemMap(address, bytes, 0, handle, 0));
	CHECK(cuMemSetAccess(address, bytes, &access, 1));
	CHECK(cuMemsetD32(address, 0x600df00d, bytes / 4));
	CHECK(cuMemcpyDtoH(&value, address + bytes - 4, 4));
	EXPECT(value == 0x600df00d);
	CHECK(cuMemUnmap(address, bytes));
	CHECK(cuMemRelease(handle));
	CHECK(cuMemAddressFree(address, bytes));
}

static void run_round(CUfunction axpy, CUstream stream, CUevent event, int round)
{
	CUdeviceptr x, y, z, pitched;
	size_t bytes = COUNT * sizeof(float), pitch;
	float *host;
	void *pinned;

	CHECK(cuMemAlloc(&x, bytes));
	CHECK(cuMemAlloc(&y, bytes));
	CHECK(cuMemAllocAsync(&z, bytes, stream));
	CHECK(cuMemAllocPitch(&pitched, &pitch, 100, 100, 16));
	CHECK(cuMemAllocHost(&pinned, bytes));
	CHECK(cuMemHostAlloc((void **)&host, bytes, 0));
	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(i + round);
	CHECK(cuMemcpyHtoD(x, host, bytes));
	CHECK(cuMemsetD32Async(y, 0, COUNT, stream));
	launch(axpy, y, x, stream);
	CHECK(cuMemcpyDtoDAsync(z, y, bytes, stream));
	CHECK(cuEventRecord(event, stream));
	CHECK(cuEventSynchronize(event));
	CHECK(cuMemcpyDtoHAsync(pinned, z, bytes, stream));
	CHECK(cuStreamSynchronize(stream));
	for (int i = 0; i < COUNT; i++)
		EXPECT(((float *)pinned)[i] == 6 * host[i]);
	CHECK(cuMemFreeAsync(z, stream));
	CHECK(cuMemFree(x));
	CHECK(cuMemFree(y));
	CHECK(cuMemFree(pitched));
	CHECK(cuMemFreeHost(pinned));
	CHECK(cuMemFreeHost(host));
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction axpy;
	CUstream stream;
	CUevent event;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, kernels_image));
	CHECK(cuModuleGetFunction(&axpy, module, "axpy"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (int round = 0; round < ROUNDS; round++)
		run_round(axpy, stream, event, round);
	use_own_mapping(device);
	CHECK(cuEventDestroy(event));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	printf("ok %d kernels in %d rounds\n", launches, ROUNDS);
	return 0;
}
