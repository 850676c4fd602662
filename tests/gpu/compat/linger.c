/* Allocates and frees for twenty seconds: for a debugger that looks at it meanwhile. */
#include <cuda.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/check.h"

int main(void)
{
	time_t start = time(NULL);
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory;
	unsigned value = 0;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	printf("running\n");
	fflush(stdout);
	while (time(NULL) - start < 20) {
		CHECK(cuMemAlloc(&memory, 1 << 20));
		CHECK(cuMemsetD32(memory, 0xfeed, (1 << 20) / 4));
		CHECK(cuMemcpyDtoH(&value, memory + 4096, sizeof(value)));
		EXPECT(value == 0xfeed);
		CHECK(cuMemFree(memory));
		usleep(1000);
	}
	CHECK(cuDevicePrimaryCtxRelease(device));
	puts("ok lingered");
	return 0;
}
