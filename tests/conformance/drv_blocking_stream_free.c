/* Rule: a free in the order of a blocking stream is a command of it, which comes after what the legacy default stream was given
 * before, though that was not given to the stream itself. So whoever waits for the stream, or asks until it is done, may use the
 * memory anywhere: what was freed, or had again there at once. */
#include "tests/conformance/rule_drv.h"

#define WORDS 4096ull
#define BYTES (WORDS * sizeof(unsigned))

enum { AGAIN = 1, BY_QUERY = 2, WAYS = 4 };

static unsigned left_by(CUstream stream, CUstream elsewhere, int way)
{
	CUdeviceptr first, second;
	unsigned value = 0;

	NEED(cuMemAllocAsync(&first, BYTES, stream));
	NEED(cuCtxSynchronize());
	rule_delay(NULL, 2000);
	rule_fill(NULL, first, 1, WORDS);
	NEED(cuMemFreeAsync(first, stream));
	if (way & AGAIN)
		NEED(cuMemAllocAsync(&second, BYTES, stream));
	if (way & BY_QUERY)
		while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
			;
	else
		NEED(cuStreamSynchronize(stream));
	if (!(way & AGAIN))
		NEED(cuMemAllocAsync(&second, BYTES, elsewhere));
	rule_fill(elsewhere, second, 2, WORDS);
	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH(&value, second, sizeof(value)));
	NEED(cuMemFreeAsync(second, elsewhere));
	NEED(cuCtxSynchronize());
	return value;
}

/* The legacy stream's work alone is not waited for. */
static void ask(CUstream stream)
{
	NEED(cuCtxSynchronize());
	rule_delay(NULL, 20000);
	WANT(cuStreamQuery(stream), CUDA_SUCCESS);
	NEED(cuCtxSynchronize());
}

int main(void)
{
	CUstream streams[2] = {NULL, CU_STREAM_PER_THREAD}, elsewhere;

	rule_start();
	NEED(cuStreamCreate(&streams[0], CU_STREAM_DEFAULT));
	NEED(cuStreamCreate(&elsewhere, CU_STREAM_NON_BLOCKING));
	rule_delay(elsewhere, 1);
	rule_fill(NULL, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		ask(streams[i]);
		for (int way = 0; way < 2 * WAYS; way++)
			WANT(left_by(streams[i], elsewhere, way % WAYS), 2);
	}
	return rule_broken;
}
