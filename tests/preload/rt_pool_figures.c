/* The figures of the default pool, as PyTorch's cudaMallocAsync backend asks for them, beside live memory of cudaMalloc,
 * and what becomes of pools. The output must be the same with the shim; what a pool holds is printed in words, because
 * nobody says how it rounds. */
#include "tests/preload/kernel.h"

#define MIB ((size_t)1 << 20)
#define SLACK (8 * MIB)

static cudaMemPool_t pool;

static size_t figure(enum cudaMemPoolAttr attribute)
{
	uint64_t bytes = 99;

	NEED(cudaMemPoolGetAttribute(pool, attribute, &bytes));
	return bytes;
}

static void print_figures(const char *when)
{
	size_t used = figure(cudaMemPoolAttrUsedMemCurrent), high = figure(cudaMemPoolAttrUsedMemHigh);
	size_t held = figure(cudaMemPoolAttrReservedMemCurrent), held_high = figure(cudaMemPoolAttrReservedMemHigh);

	printf("%s: used %zu, at most %zu, holds %s, at most %s\n", when, used, high,
	       held < used	      ? "less"
	       : held < used + SLACK ? "no more"
				      : "more",
	       held_high < held || held_high < high ? "less" : held_high < held + SLACK ? "no more" : "more");
}

static void set(enum cudaMemPoolAttr attribute, uint64_t value)
{
	printf("set %d: %d\n", (int)attribute, cudaMemPoolSetAttribute(pool, attribute, &value));
	(void)cudaGetLastError();
}

static void set_reuse(int value)
{
	static const enum cudaMemPoolAttr reuse[] = {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
						     cudaMemPoolReuseAllowInternalDependencies};

	for (unsigned i = 0; i < 3; i++) {
		int answer = 99;

		NEED(cudaMemPoolSetAttribute(pool, reuse[i], &value));
		NEED(cudaMemPoolGetAttribute(pool, reuse[i], &answer));
		printf("reuse %u is %d\n", i, answer);
	}
}

static void figures(void)
{
	void *legacy, *block[4];
	uint64_t threshold = 0;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	set(cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	printf("threshold %llx\n", (unsigned long long)threshold);
	set_reuse(1);
	NEED(cudaMalloc(&legacy, 48 * MIB));
	print_figures("with memory of cudaMalloc alone");
	for (unsigned i = 0; i < 4; i++)
		NEED(cudaMallocAsync(&block[i], 16 * MIB + i, NULL));
	print_figures("four blocks");
	NEED(cudaFreeAsync(block[1], NULL));
	NEED(cudaFreeAsync(block[3], NULL));
	print_figures("two of them freed");
	set(cudaMemPoolAttrUsedMemHigh, 0);
	print_figures("used forgotten");
	set(cudaMemPoolAttrUsedMemHigh, 5);
	set(cudaMemPoolAttrReservedMemHigh, 5);
	NEED(cudaDeviceSynchronize());
	NEED(cudaMemPoolTrimTo(pool, 38 * MIB));
	print_figures("trimmed in part");
	NEED(cudaMemPoolTrimTo(pool, 0));
	print_figures("trimmed");
	set(cudaMemPoolAttrReservedMemHigh, 0);
	print_figures("held forgotten");
	NEED(cudaFreeAsync(block[0], NULL));
	NEED(cudaFree(block[2]));
	NEED(cudaDeviceSynchronize());
	NEED(cudaMemPoolTrimTo(pool, 0));
	print_figures("all freed");
	NEED(cudaFree(legacy));
}

/* Memory freed on one stream, with work on it, and asked for on another that must not wait. */
static void reuse(void)
{
	cudaStream_t first = stream_new(), second = stream_new();
	uint32_t *block, *other;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	set_reuse(0);
	NEED(cudaMallocAsync((void **)&block, 4 * MIB, first));
	kernel_delay(100000, first);
	kernel_fill(block, 1, MIB, first);
	NEED(cudaFreeAsync(block, first));
	NEED(cudaMallocAsync((void **)&other, 4 * MIB, second));
	kernel_fill(other, 2, MIB, second);
	NEED(cudaStreamSynchronize(second));
	printf("%s memory, the first stream: %d\n", block == other ? "the same" : "other", cudaStreamQuery(first));
	(void)cudaGetLastError();
	NEED(cudaFreeAsync(other, second));
	NEED(cudaDeviceSynchronize());
}

static void pools(void)
{
	struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
					      .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
	struct cudaMemLocation here = properties.location;
	enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
	cudaMemPool_t own, current;
	void *block, *kept;
	int fd = -1;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	printf("destroy the default pool %d", cudaMemPoolDestroy(pool));
	printf(", export it %d", cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
	printf(", access %d", cudaMemPoolGetAccess(&flags, pool, &here));
	printf(" %d\n", flags);
	NEED(cudaMemPoolCreate(&own, &properties));
	NEED(cudaMallocFromPoolAsync(&kept, MIB, own, NULL));
	NEED(cudaDeviceSetMemPool(0, own));
	NEED(cudaMallocAsync(&block, MIB, NULL));
	printf("used of the default pool %zu", figure(cudaMemPoolAttrUsedMemCurrent));
	NEED(cudaFreeAsync(block, NULL));
	NEED(cudaFreeAsync(kept, NULL));
	printf(", destroy the current pool %d", cudaMemPoolDestroy(own));
	NEED(cudaDeviceGetMemPool(&current, 0));
	printf(", the default one is current: %d", current == pool);
	NEED(cudaMallocAsync(&block, MIB, NULL));
	printf(", used of it %zu\n", figure(cudaMemPoolAttrUsedMemCurrent));
	printf("of a pool that is gone: %d", cudaMallocFromPoolAsync(&kept, MIB, own, NULL));
	printf(" %d\n", cudaMemPoolTrimTo(own, 0));
	(void)cudaGetLastError();
	NEED(cudaFreeAsync(block, NULL));
	NEED(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {{"figures", figures}, {"reuse", reuse}, {"pools", pools}};

	kernels_register();
	for (unsigned i = 0; argc == 2 && i < 3; i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			scenarios[i].run();
	return 0;
}
