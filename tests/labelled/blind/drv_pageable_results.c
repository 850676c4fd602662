/* Results go to pageable memory by cuMemcpyDtoHAsync in each step, and the host works on them afterwards: the copy waits for
 * all that comes before it. Whether the documentation would have it under asynchronous copies with pageable memory or under
 * copies to the host is open.
 *
 * finds: pageable-async|copy-to-host in fetch_results */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART void fetch_results(void *results, const uint32_t *words, CUstream stream)
{
	NEED(cuMemcpyDtoHAsync(results, device(words), WORDS_BYTES, stream));
}

int main(void)
{
	CUstream stream;
	uint32_t *words, *results = malloc(WORDS_BYTES);
	unsigned wrong = 0;

	if (!results)
		return 9;
	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		busy(words, stream);
		fetch_results(results, words, stream);
		wrong += results[WORDS - 1] != 2;
		host_works();
	}
	free(results);
	return wrong != 0;
}
