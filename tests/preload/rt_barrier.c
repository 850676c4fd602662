/* Frees that are answered without the runtime, and keep streams in order by nothing else. rt_barrier legacy: two blocking streams by
 * frees on the legacy default one; prints what the second one finds. rt_barrier blocking: whoever waits for a blocking stream that
 * memory is freed on has waited for what the legacy one does with it; prints what is found there afterwards. */
#include "tests/preload/kernel.h"

#define WORDS 1024

static cudaStream_t early, late;
static uint32_t *from, *to;

static void *ordered(void)
{
	void *memory;

	NEED(cudaMallocAsync(&memory, 4096, NULL));
	return memory;
}

static void round_of_legacy(uint32_t value)
{
	uint32_t found = 0;
	void *memory = ordered();

	kernel_delay(100, early);
	kernel_fill(from, value, WORDS, early);
	NEED(cudaFreeAsync(memory, NULL));
	NEED(cudaMemcpyAsync(to, from, WORDS * sizeof(*to), cudaMemcpyDeviceToDevice, late));
	NEED(cudaStreamSynchronize(late));
	NEED(cudaMemcpy(&found, to, sizeof(found), cudaMemcpyDeviceToHost));
	printf("%u\n", found);
}

/* The legacy stream's work is launches and copies by turns, and nothing else between two frees. */
static void round_of_blocking(uint32_t value)
{
	static cudaStream_t aside;
	void *before = NULL;
	uint32_t *memory, found = 0;
	cudaEvent_t event;

	if (aside == NULL)
		NEED(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
	NEED(cudaMallocAsync(&before, 64 << 20, early)); /* nobody wants it afterwards */
	NEED(cudaMallocAsync((void **)&memory, WORDS * sizeof(*memory), early));
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	NEED(cudaDeviceSynchronize());
	NEED(cudaFreeAsync(before, early));
	if (value % 2 != 0) {
		kernel_delay(100, NULL);
		kernel_fill(memory, 99, WORDS, NULL);
	} else {
		kernel_delay(100, aside);
		NEED(cudaEventRecord(event, aside));
		NEED(cudaStreamWaitEvent(NULL, event, 0));
		NEED(cudaMemcpyAsync(memory, from, WORDS * sizeof(*memory), cudaMemcpyDeviceToDevice, NULL));
	}
	NEED(cudaFreeAsync(memory, early));
	NEED(cudaStreamSynchronize(early));
	NEED(cudaMallocAsync((void **)&memory, WORDS * sizeof(*memory), aside)); /* and kept: the next round has none there */
	kernel_fill(memory, value, WORDS, aside);
	NEED(cudaDeviceSynchronize());
	NEED(cudaMemcpy(&found, memory, sizeof(found), cudaMemcpyDeviceToHost));
	printf("%u\n", found);
}

int main(int count, char **words)
{
	kernels_register();
	for (int i = 0; i < 3; i++) {
		NEED(cudaFreeAsync(ordered(), NULL));
		NEED(cudaDeviceSynchronize());
	}
	NEED(cudaMalloc((void **)&from, WORDS * sizeof(*from)));
	NEED(cudaMalloc((void **)&to, WORDS * sizeof(*to)));
	NEED(cudaStreamCreate(&early));
	NEED(cudaStreamCreate(&late));
	for (uint32_t value = 1; value < 9; value++)
		if (count > 1 && strcmp(words[1], "blocking") == 0)
			round_of_blocking(value);
		else
			round_of_legacy(value);
	return 0;
}
