/* The host brings two streams into order: it waits for an event behind one stream's use, then frees the memory on the other. No
 * hazard. The wait is one that each step needs and is followed by the next step's work at once; it drains the device, so it may
 * be named, but the documentation would have it last.
 *
 * settings: hazards:on
 * may: wait-event in use_await */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART void use_await(CUevent used)
{
	NEED(cuEventSynchronize(used));
}

static APART void scratch_free(CUdeviceptr scratch, CUstream owner)
{
	NEED(cuMemFreeAsync(scratch, owner));
}

int main(void)
{
	CUstream owner, user;
	CUevent made, used;
	uint32_t *words;

	work_start();
	owner = stream_new();
	user = stream_new();
	made = event_new();
	used = event_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		CUdeviceptr scratch;

		NEED(cuMemAllocAsync(&scratch, WORDS_BYTES, owner));
		NEED(cuMemsetD32Async(scratch, step, WORDS, owner));
		NEED(cuEventRecord(made, owner));
		NEED(cuStreamWaitEvent(user, made, 0));
		add(words, (uint32_t *)(uintptr_t)scratch, WORDS, user);
		NEED(cuMemcpyDtoDAsync(device(words), scratch, WORDS_BYTES, user));
		NEED(cuEventRecord(used, user));
		use_await(used);
		scratch_free(scratch, owner);
	}
	NEED(cuCtxSynchronize());
	return 0;
}
