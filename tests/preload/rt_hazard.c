/* One situation each of research on stream order, named by argv[1]; prints what the program sees. */
#include "tests/preload/kernel.h"

#include "shim/gpushim.h"

enum { WORDS = 1 << 20 };

static const size_t size_bytes = WORDS * sizeof(uint32_t);
static uint32_t *errors;

/* Memory of the device that the shim holds; 0 without it. */
static uint64_t reserved_bytes(void)
{
	__typeof__(gpushim_stats) *stats;
	struct gpushim_stats figures;

	*(void **)&stats = dlsym(RTLD_DEFAULT, "gpushim_stats");
	return stats != NULL && stats(0, &figures, sizeof(figures)) == 0 ? figures.reserved_bytes : 0;
}

/* Work that reads the block is still pending when it is freed: nobody else may write it before. */
static void pending_reader(uint32_t *words, uint32_t value, cudaStream_t stream)
{
	kernel_fill(words, value, WORDS, stream);
	kernel_delay(50, stream);
	kernel_verify(words, value, WORDS, errors, stream);
}

/* Freed on one stream, allocated on another. */
static void reuse_async(void)
{
	cudaStream_t first = stream_new(), second = stream_new();
	uint32_t *words, *other, *again;
	uint64_t before;

	NEED(cudaMallocAsync((void **)&words, size_bytes, first));
	pending_reader(words, 1, first);
	NEED(cudaFreeAsync(words, first));
	NEED(cudaMallocAsync((void **)&other, size_bytes, second));
	kernel_fill(other, 2, WORDS, second);
	NEED(cudaStreamSynchronize(second));
	printf("%u words wrong\n", errors_read(errors));
	before = reserved_bytes();
	NEED(cudaMallocAsync((void **)&again, size_bytes, second));
	printf("once complete, %s\n", reserved_bytes() == before ? "the memory is reused" : "more memory was taken");
	NEED(cudaFreeAsync(other, second));
	NEED(cudaFreeAsync(again, second));
	NEED(cudaDeviceSynchronize());
}

/* On the stream of the free it is reused at once. */
static void reuse_same_stream(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *again;

	NEED(cudaMallocAsync((void **)&words, size_bytes, stream));
	pending_reader(words, 1, stream);
	NEED(cudaFreeAsync(words, stream));
	NEED(cudaMallocAsync((void **)&again, size_bytes, stream));
	printf("%s\n", words == again ? "the same memory" : "other memory");
	pending_reader(again, 2, stream);
	NEED(cudaFreeAsync(again, stream));
	printf("%u words wrong\n", errors_read(errors));
}

/* cudaFree without waiting first; then cudaMalloc (or cudaMallocAsync) and work elsewhere (H2). */
static void reuse_legacy(bool async)
{
	cudaStream_t first = stream_new(), second = stream_new();
	uint32_t *words, *other;

	NEED(cudaMalloc((void **)&words, size_bytes));
	pending_reader(words, 1, first);
	NEED(cudaFree(words));
	if (async)
		NEED(cudaMallocAsync((void **)&other, size_bytes, second));
	else
		NEED(cudaMalloc((void **)&other, size_bytes));
	kernel_fill(other, 2, WORDS, second);
	NEED(cudaStreamSynchronize(second));
	printf("%u words wrong\n", errors_read(errors));
	NEED(cudaFree(other));
}

/* The host relies on the wait of cudaFree (H4). */
static void copy_then_free(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *host;
	unsigned long wrong = 0;

	NEED(cudaMallocHost((void **)&host, size_bytes));
	memset(host, 0, size_bytes);
	NEED(cudaMalloc((void **)&words, size_bytes));
	kernel_fill(words, 7, WORDS, stream);
	NEED(cudaMemcpyAsync(host, words, size_bytes, cudaMemcpyDeviceToHost, stream));
	NEED(cudaFree(words));
	for (unsigned i = 0; i < WORDS; i++)
		wrong += host[i] != 7;
	printf("%lu words wrong on the host\n", wrong);
	NEED(cudaDeviceSynchronize());
	NEED(cudaFreeHost(host));
}

/* Frees of nothing start CUDA, as programs expect (H5). */
static void free_nothing(void)
{
	sim_calls_fn *calls;

	printf("cudaFree(0) %d\n", cudaFree(NULL));
	*(void **)&calls = sim_find("sim_calls");
	printf("%lu contexts\n", calls("cuDevicePrimaryCtxRetain"));
	printf("cudaFreeAsync(0) %d, cudaFreeHost(0) %d\n", cudaFreeAsync(NULL, NULL), cudaFreeHost(NULL));
	printf("last error %d\n", cudaGetLastError());
}

/* The stream of a free goes away with work pending, and its handle comes back (H6). */
static unsigned long events_recorded(void)
{
	sim_calls_fn *calls;

	*(void **)&calls = sim_find("sim_calls");
	return calls("cuEventRecord");
}

/* beside_capture: while another stream captures, which forbids most of what tells when work is done (H9). */
static void stream_destroyed(bool beside_capture)
{
	cudaStream_t first = stream_new(), captures = stream_new(), second;
	cudaGraph_t graph;
	uint32_t *words, *other;
	unsigned long events;

	NEED(cudaMallocAsync((void **)&words, size_bytes, first));
	pending_reader(words, 1, first);
	NEED(cudaFreeAsync(words, first));
	events = events_recorded();
	if (beside_capture)
		NEED(cudaStreamBeginCapture(captures, cudaStreamCaptureModeGlobal));
	NEED(cudaStreamDestroy(first));
	if (beside_capture)
		NEED(cudaStreamEndCapture(captures, &graph));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && events_recorded() == events)
		printf("the stream went and nothing tells when its memory is free\n");
	second = stream_new();
	NEED(cudaMallocAsync((void **)&other, size_bytes, second));
	kernel_fill(other, 2, WORDS, second);
	NEED(cudaStreamSynchronize(second));
	printf("%u words wrong\n", errors_read(errors));
	NEED(cudaFree(other));
}

/* Its work goes on; what it works on is freed for everybody, before or after the end of the stream. */
static void stream_destroyed_first(bool frees_first)
{
	cudaStream_t first = stream_new(), second = stream_new();
	uint32_t *words, *other;

	NEED(cudaMalloc((void **)&words, size_bytes));
	pending_reader(words, 1, first);
	if (frees_first)
		NEED(cudaFree(words));
	NEED(cudaStreamDestroy(first));
	if (!frees_first)
		NEED(cudaFree(words));
	for (unsigned i = 0; i < 40; i++) {
		NEED(cudaMallocAsync((void **)&other, size_bytes, second));
		kernel_fill(other, 2, WORDS, second);
	}
	NEED(cudaStreamSynchronize(second));
	printf("%u words wrong\n", errors_read(errors));
}

/* Memory dies with the context; the program starts again. */
static void reset(void)
{
	uint32_t *words, *ordered, *kept_errors;
	cudaStream_t stream = stream_new();
	size_t free_before, free_after, total;

	NEED(cudaMemGetInfo(&free_before, &total));
	NEED(cudaMalloc((void **)&words, size_bytes));
	NEED(cudaMallocAsync((void **)&ordered, size_bytes, stream));
	NEED(cudaStreamSynchronize(stream));
	printf("reset %d\n", cudaDeviceReset());
	printf("cudaFree of before %d", cudaFree(words));
	printf(", last error %d\n", cudaGetLastError());
	NEED(cudaMemGetInfo(&free_after, &total));
	kept_errors = errors_new();
	stream = stream_new();
	NEED(cudaMalloc((void **)&words, size_bytes));
	kernel_fill(words, 3, WORDS, stream);
	kernel_verify(words, 3, WORDS, kept_errors, stream);
	printf("%u words wrong, cudaFree %d\n", errors_read(kept_errors), cudaFree(words));
}

/* What is freed counts as free (H30). */
static void memory_info(void)
{
	size_t before, during, after, total;
	uint32_t *words;

	NEED(cudaMemGetInfo(&before, &total));
	NEED(cudaMalloc((void **)&words, 16 * size_bytes));
	NEED(cudaMemGetInfo(&during, &total));
	NEED(cudaFree(words));
	NEED(cudaMemGetInfo(&after, &total));
	printf("%zu MiB taken, %zu MiB back, of %zu MiB\n", (before - during) >> 20, (after - during) >> 20,
	       total >> 20);
}

static void trim_pool(void)
{
	cudaMemPool_t pool;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	NEED(cudaMemPoolTrimTo(pool, 0));
}

static void trim_shim(void)
{
	__typeof__(gpushim_trim) *trim;

	*(void **)&trim = dlsym(RTLD_DEFAULT, "gpushim_trim");
	if (trim != NULL)
		trim(0, 0);
}

static void ask_for_too_much(void)
{
	void *words;

	if (cudaMalloc(&words, (size_t)1 << 40) == cudaSuccess)
		printf("that much?\n");
	(void)cudaGetLastError();
}

/* Memory stays while work is queued on it, however it is asked to be given back. */
static void give_back(void)
{
	static void (*const ways[])(void) = {trim_pool, trim_shim, ask_for_too_much};

	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		cudaStream_t stream = stream_new();
		uint32_t *idle, *legacy, *async;

		NEED(cudaMallocAsync((void **)&idle, 3 * size_bytes, stream));
		NEED(cudaMallocAsync((void **)&async, 3 * size_bytes, stream));
		NEED(cudaMalloc((void **)&legacy, 3 * size_bytes));
		NEED(cudaFree(idle));
		NEED(cudaDeviceSynchronize());
		for (unsigned part = 0; part < 3; part++) {
			pending_reader(legacy + part * WORDS, 1, stream);
			pending_reader(async + part * WORDS, 2, stream);
		}
		NEED(cudaFreeAsync(async, stream));
		NEED(cudaFree(legacy));
		ways[way]();
		printf("%u words wrong\n", errors_read(errors));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kernels_register();
	if (strcmp(what, "free-nothing") == 0) {
		free_nothing();
		return 0;
	}
	errors = errors_new();
	if (strcmp(what, "reuse-async") == 0)
		reuse_async();
	else if (strcmp(what, "reuse-same-stream") == 0)
		reuse_same_stream();
	else if (strcmp(what, "reuse-legacy") == 0)
		reuse_legacy(false);
	else if (strcmp(what, "reuse-legacy-async") == 0)
		reuse_legacy(true);
	else if (strcmp(what, "copy-then-free") == 0)
		copy_then_free();
	else if (strcmp(what, "stream-destroyed") == 0)
		stream_destroyed(false);
	else if (strcmp(what, "stream-destroyed-beside-capture") == 0)
		stream_destroyed(true);
	else if (strcmp(what, "stream-destroyed-then-freed") == 0)
		stream_destroyed_first(false);
	else if (strcmp(what, "freed-then-stream-destroyed") == 0)
		stream_destroyed_first(true);
	else if (strcmp(what, "reset") == 0)
		reset();
	else if (strcmp(what, "give-back") == 0)
		give_back();
	else if (strcmp(what, "memory-info") == 0)
		memory_info();
	else
		return 2;
	return 0;
}
