/* Memory by all ways that a runtime program has, for the sweep of faults. */
#include <cuda_runtime_api.h>

#include "tests/fault/sweep.h"
#include "tests/fault/work.h"

static void start(void)
{
	uint32_t *words = NULL;

	STEP(cudaSetDevice(0));
	STEP(cudaMalloc((void **)&words, SMALL_BYTES));
	work_check(words, NULL, 3);
	STEP(cudaFree(words));
}

/* Each way to ask for memory, and what can be asked about it. */
static void ways(void)
{
	void *memory[8] = {NULL};
	struct cudaPitchedPtr pitched = {NULL};
	struct cudaPointerAttributes attributes;
	size_t pitch, free_bytes, total_bytes;

	STEP(cudaMalloc(&memory[0], SMALL_BYTES));
	STEP(cudaMalloc(&memory[1], 5 * MIB));
	STEP(cudaMallocPitch(&memory[2], &pitch, 1000, 100));
	STEP(cudaMalloc3D(&pitched, (struct cudaExtent){100, 10, 10}));
	STEP(cudaMallocManaged(&memory[3], SMALL_BYTES, cudaMemAttachGlobal));
	STEP(cudaMallocHost(&memory[4], SMALL_BYTES));
	STEP(cudaHostAlloc(&memory[5], SMALL_BYTES, cudaHostAllocMapped));
	STEP(cudaMallocAsync(&memory[6], SMALL_BYTES, NULL));
	STEP(cudaMallocAsync(&memory[7], 5 * MIB, NULL));
	for (int i = 0; i < 8; i++)
		if (memory[i] != NULL)
			STEP(cudaPointerGetAttributes(&attributes, memory[i]));
	STEP(cudaMemGetInfo(&free_bytes, &total_bytes));
	for (int i = 0; i < 2; i++)
		work_check(memory[i], NULL, (uint32_t)i + 5);
	work_check(memory[6], NULL, 7);
	STEP(cudaFreeAsync(memory[6], NULL));
	STEP(cudaFree(memory[7]));
	STEP(cudaFreeHost(memory[5]));
	STEP(cudaFreeHost(memory[4]));
	for (int i = 0; i < 4; i++)
		STEP(cudaFree(memory[i]));
	STEP(cudaFree(pitched.ptr));
	STEP(cudaGetLastError());
}

/* Memory changes hands between streams while work on it is pending. */
static void streams(void)
{
	cudaStream_t stream[2] = {NULL};
	uint32_t *words[3] = {NULL};
	cudaEvent_t event = NULL;

	for (int i = 0; i < 2; i++)
		STEP(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	STEP(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			words[i] = NULL;
			STEP(cudaMallocAsync((void **)&words[i], (size_t)(i + 1) * MIB, stream[i % 2]));
			work_check(words[i], stream[i % 2], (uint32_t)(round * 3 + i + 1));
		}
		STEP(cudaEventRecord(event, stream[0]));
		STEP(cudaStreamWaitEvent(stream[1], event, 0));
		for (int i = 0; i < 3; i++)
			if (words[i] != NULL)
				STEP(cudaFreeAsync(words[i], stream[1]));
		words[0] = NULL;
		STEP(cudaMallocAsync((void **)&words[0], 2 * MIB, stream[0]));
		work_check(words[0], stream[0], 77);
		if (words[0] != NULL)
			STEP(cudaFreeAsync(words[0], stream[0]));
		STEP(cudaStreamSynchronize(stream[round]));
	}
	STEP(cudaEventSynchronize(event));
	STEP(cudaEventQuery(event));
	STEP(cudaEventDestroy(event));
	for (int i = 0; i < 2; i++)
		STEP(cudaStreamDestroy(stream[i]));
	STEP(cudaDeviceSynchronize());
}

/* Copies of all directions; memory is freed while a copy of it to the host is under way. */
static void copies(void)
{
	static uint32_t pageable[WORDS];
	cudaStream_t stream = NULL;
	uint32_t *words = NULL, *other = NULL, *pinned = NULL;

	STEP(cudaStreamCreate(&stream));
	STEP(cudaMallocHost((void **)&pinned, sizeof(pageable)));
	STEP(cudaMalloc((void **)&words, sizeof(pageable)));
	STEP(cudaMalloc((void **)&other, sizeof(pageable)));
	if (words != NULL && other != NULL && pinned != NULL) {
		bool good = STEP(cudaMemset(words, 5, sizeof(pageable)));

		good &= STEP(cudaMemcpyAsync(other, words, sizeof(pageable), cudaMemcpyDeviceToDevice, stream));
		good &= STEP(cudaMemcpyAsync(pinned, other, sizeof(pageable), cudaMemcpyDeviceToHost, stream));
		good &= STEP(cudaFree(other)); /* whose wait the host leans on */
		other = NULL;
		if (good)
			step_note("words wrong", (int)work_differ(pinned, 0x05050505));
		good = STEP(cudaMemcpy(words, pinned, sizeof(pageable), cudaMemcpyHostToDevice)) && good;
		STEP(cudaStreamSynchronize(stream));
		good = STEP(cudaMemcpy(pageable, words, sizeof(pageable), cudaMemcpyDeviceToHost)) && good;
		if (good)
			step_note("words wrong", (int)work_differ(pageable, 0x05050505));
	}
	STEP(cudaFree(words));
	STEP(cudaFree(other));
	STEP(cudaFreeHost(pinned));
	STEP(cudaStreamDestroy(stream));
}

/* Until there is no memory, then all over again with large blocks. */
static void all_of_it(void)
{
	enum { CHUNKS = 20 };
	void *chunks[CHUNKS] = {NULL}, *large = NULL;

	for (int i = 0; i < CHUNKS; i++)
		STEP(cudaMalloc(&chunks[i], 15 * MIB));
	for (int i = 0; i < CHUNKS; i += 2)
		STEP(cudaFree(chunks[i]));
	STEP(cudaMallocAsync(&large, 60 * MIB, NULL));
	work_check(large, NULL, 9);
	STEP(cudaFreeAsync(large, NULL));
	for (int i = 1; i < CHUNKS; i += 2)
		STEP(cudaFree(chunks[i]));
	large = NULL;
	STEP(cudaMalloc(&large, 200 * MIB));
	work_check(large, NULL, 11);
	STEP(cudaFree(large));
	STEP(cudaGetLastError());
}

/* Pools of the program's own, and the device's. */
static void pools(void)
{
	struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
					      .location = {.type = cudaMemLocationTypeDevice}};
	cudaMemPool_t pool = NULL, own = NULL;
	cudaStream_t stream = NULL;
	uint32_t *words[2] = {NULL};
	uint64_t bytes;

	STEP(cudaStreamCreate(&stream));
	STEP(cudaDeviceGetDefaultMemPool(&pool, 0));
	STEP(cudaMemPoolCreate(&own, &properties));
	if (own != NULL)
		STEP(cudaMallocFromPoolAsync((void **)&words[0], MIB, own, stream));
	if (pool != NULL)
		STEP(cudaMallocFromPoolAsync((void **)&words[1], MIB, pool, stream));
	for (int i = 0; i < 2; i++) {
		work_check(words[i], stream, (uint32_t)i + 20);
		if (words[i] != NULL)
			STEP(cudaFreeAsync(words[i], stream));
	}
	if (pool != NULL) {
		STEP(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes));
		STEP(cudaStreamSynchronize(stream));
		STEP(cudaMemPoolTrimTo(pool, 0));
	}
	if (own != NULL)
		STEP(cudaMemPoolDestroy(own));
	STEP(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
	    {"start", NULL, {start}, work_settle, false},
	    {"ways", work_warm, {ways}, work_settle, false},
	    {"streams", work_warm, {streams}, work_settle, false},
	    {"copies", work_warm, {copies}, work_settle, false},
	    {"all of it", work_warm, {all_of_it}, work_settle, false},
	    {"pools", work_warm, {pools}, work_settle, false},
	};

	work_init();
	return sweep_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
