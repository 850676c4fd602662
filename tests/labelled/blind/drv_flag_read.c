/* A flag of four bytes is copied to pinned memory and awaited in each step, and the host decides by it: an `.item()` in C. Whether
 * it counts as the value or as the wait for it is not documented.
 *
 * finds: value-to-host|wait-stream in has_converged */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART int has_converged(uint32_t *flag, const uint32_t *words, CUstream stream)
{
	NEED(cuMemcpyDtoHAsync(flag, device(words), sizeof(*flag), stream));
	NEED(cuStreamSynchronize(stream));
	return *flag == 0;
}

int main(void)
{
	CUstream stream;
	uint32_t *words, *flag;
	unsigned step = 0;

	work_start();
	stream = stream_new();
	words = words_new();
	NEED(cuMemAllocHost((void **)&flag, sizeof(*flag)));
	do {
		busy(words, stream);
		if (has_converged(flag, words, stream))
			return 1;
		host_works();
	} while (++step < STEPS);
	NEED(cuMemFreeHost(flag));
	return 0;
}
