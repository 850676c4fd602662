/* Rule (H4): cuMemFreeHost waits for the work of the context, whatever the memory is used for, as cuMemFree does. */
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

static volatile int ran;

static void slowly(void *unused)
{
	(void)unused;
	usleep(50000);
	ran = 1;
}

int main(void)
{
	static const size_t sizes[] = {4096, 1 << 20, 64 << 20};
	CUstream stream;
	void *memory;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 3; i++) {
		NEED(cuMemHostAlloc(&memory, sizes[i], 0));
		ran = 0;
		NEED(cuLaunchHostFunc(stream, slowly, NULL));
		NEED(cuMemFreeHost(memory));
		WANT(ran, 1);
		NEED(cuCtxSynchronize());
	}
	return rule_broken;
}
