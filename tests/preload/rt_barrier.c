/* Two blocking streams that are kept in order by nothing but frees on the legacy default stream, which are answered without the
 * runtime: prints what the second one finds. */
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

static void round_of(uint32_t value)
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

int main(void)
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
		round_of(value);
	return 0;
}
