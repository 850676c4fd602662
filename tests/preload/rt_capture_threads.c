/* Captures and several threads (H9): one situation each, named by argv[1]; prints what the program sees. */
#include "tests/preload/capture.h"

static cudaStream_t stream;

/* --- The thread that ends a capture */

static void *end_here(void *ret_error)
{
	*(int *)ret_error = capture_end(stream);
	return NULL;
}

static void ended_elsewhere(void)
{
	int error;

	capture_begin(stream, cudaStreamCaptureModeRelaxed);
	in_thread(end_here, &error);
	printf("end %d, served %d\n", error, served());
}

/* The capture goes on after another thread tried to end it: still nobody may record or ask. */
static void wrong_thread(void)
{
	cudaStream_t other = stream_new();
	unsigned long calls;
	void *memory;
	int error;

	NEED(cudaMallocAsync(&memory, size_bytes, other));
	capture_begin(stream, cudaStreamCaptureModeThreadLocal);
	in_thread(end_here, &error);
	printf("end elsewhere %d, status %d, ", error, capture_status(stream));
	calls = conflicting_calls();
	NEED(cudaFreeAsync(memory, other));
	NEED(cudaMallocAsync(&memory, size_bytes, stream_new()));
	printf("%lu calls, ", conflicting_calls() - calls);
	printf("end %d, ", capture_end(stream));
	printf("served %d\n", served());
}

/* --- Another thread takes memory while a capture is open */

static void *grow(void *unused)
{
	cudaStream_t own = stream_new();
	unsigned refused = 0;
	void *blocks[32];

	for (unsigned i = 0; i < 32; i++)
		refused += cudaMallocAsync(&blocks[i], (size_t)(i % 4 + 1) << 20, own) != cudaSuccess;
	for (unsigned i = 0; i < 32; i++)
		refused += cudaFreeAsync(blocks[i], own) != cudaSuccess;
	for (unsigned i = 0; i < 8; i++)
		refused += malloc_in_mode(cudaStreamCaptureModeRelaxed) != cudaSuccess;
	printf("%u refused, ", refused);
	return unused;
}

static void growth(void)
{
	unsigned long calls;

	capture_begin(stream, cudaStreamCaptureModeGlobal);
	calls = conflicting_calls();
	in_thread(grow, NULL);
	printf("%lu calls, ", conflicting_calls() - calls);
	printf("end %d, ", capture_end(stream));
	printf("served %d\n", served());
}

static void *malloc_here(void *ret_error)
{
	*(cudaError_t *)ret_error = malloc_in_mode(cudaStreamCaptureModeGlobal);
	return NULL;
}

static void mallocs(void)
{
	cudaError_t error;

	capture_begin(stream, cudaStreamCaptureModeGlobal);
	in_thread(malloc_here, &error);
	printf("global: malloc %d, end %d\n", error, capture_end(stream));
	capture_begin(stream, cudaStreamCaptureModeThreadLocal);
	in_thread(malloc_here, &error);
	printf("thread-local: malloc %d, end %d\n", error, capture_end(stream));
}

/* --- More captures at once than anybody needs */

static void many(void)
{
	enum { COUNT = 100 };
	static cudaStream_t streams[COUNT];
	unsigned bad = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		streams[i] = stream_new();
		capture_begin(streams[i], cudaStreamCaptureModeThreadLocal);
	}
	for (unsigned i = 0; i < COUNT; i++)
		bad += capture_end(streams[i]) != cudaSuccess;
	printf("%u captures went wrong, served %d\n", bad, served());
}

/* --- Threads that capture all the time, and threads that make the shim record and ask all the time. Their memory goes
 * from stream to stream, so that it is not handed out without a fence. */

enum { CAPTURERS = 2, MOVERS = 2, ROUNDS = 2000 };

static _Atomic int capturers_left;
static uint32_t *errors;

static void *capture_often(void *ret_bad)
{
	cudaStream_t own = stream_new();
	void *node;

	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned pause = 0; pause < i % 8; pause++)
			NEED(cudaStreamQuery(own));
		capture_begin(own, cudaStreamCaptureModeThreadLocal);
		if (cudaMallocAsync(&node, size_bytes, own) == cudaSuccess) {
			cudaMemsetAsync(node, 0, size_bytes, own);
			cudaFreeAsync(node, own);
		}
		*(unsigned *)ret_bad += capture_end(own) != 0;
	}
	capturers_left--;
	return NULL;
}

static void *move_often(void *unused)
{
	cudaStream_t own = stream_new(), last = stream_new();
	uint32_t *words;
	cudaEvent_t event;

	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned i = 0; capturers_left > 0; i++) {
		NEED(cudaMallocAsync((void **)&words, size_bytes, own));
		kernel_fill(words, i, WORDS, own);
		kernel_verify(words, i, WORDS, errors, own);
		NEED(cudaEventRecord(event, own));
		NEED(cudaStreamWaitEvent(last, event, 0));
		NEED(cudaFreeAsync(words, last));
	}
	return unused;
}

static void storm(void)
{
	pthread_t capturers[CAPTURERS], movers[MOVERS];
	unsigned bad[CAPTURERS] = {0}, bad_total = 0;

	errors = errors_new();
	capturers_left = CAPTURERS;
	for (unsigned i = 0; i < CAPTURERS; i++)
		NEED(pthread_create(&capturers[i], NULL, capture_often, &bad[i]));
	for (unsigned i = 0; i < MOVERS; i++)
		NEED(pthread_create(&movers[i], NULL, move_often, NULL));
	for (unsigned i = 0; i < CAPTURERS; i++) {
		NEED(pthread_join(capturers[i], NULL));
		bad_total += bad[i];
	}
	for (unsigned i = 0; i < MOVERS; i++)
		NEED(pthread_join(movers[i], NULL));
	printf("%u captures went wrong, %u words wrong, ", bad_total, errors_read(errors));
	printf("served %d\n", served());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} situations[] = {{"ended-elsewhere", ended_elsewhere},
			  {"wrong-thread", wrong_thread},
			  {"growth", growth},
			  {"mallocs", mallocs},
			  {"many", many},
			  {"storm", storm}};
	const char *situation = argc > 1 ? argv[1] : "";

	kernels_register();
	stream = stream_new();
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++)
		if (strcmp(situation, situations[i].name) == 0)
			situations[i].run();
	return 0;
}
