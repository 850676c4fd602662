/* One situation each of memory while streams capture (H9), named by argv[1]; prints what the program sees. */
#include "tests/preload/capture.h"

static uint32_t *errors;

/* Work that reads the block is still pending when it is freed: nobody else may write it before. */
static void pending_reader(uint32_t *words, uint32_t value, cudaStream_t stream)
{
	kernel_fill(words, value, WORDS, stream);
	kernel_delay(50, stream);
	kernel_verify(words, value, WORDS, errors, stream);
}

/* Memory comes and goes on streams that do not capture, while work on it is pending. */
static void others(void)
{
	cudaStream_t capturing = stream_new(), first = stream_new(), second = stream_new();
	uint32_t *words, *other, *third;
	unsigned long calls;

	NEED(cudaMallocAsync((void **)&words, size_bytes, first));
	pending_reader(words, 1, first);
	capture_begin(capturing, cudaStreamCaptureModeGlobal);
	calls = conflicting_calls();
	kernel_fill(errors, 7, 1, capturing);
	NEED(cudaFreeAsync(words, first));
	NEED(cudaMallocAsync((void **)&other, size_bytes, second));
	kernel_fill(other, 2, WORDS, second);
	NEED(cudaMallocAsync((void **)&third, size_bytes, first));
	kernel_fill(third, 3, WORDS, first);
	NEED(cudaFreeAsync(third, first));
	printf("%lu calls, status %d, ", conflicting_calls() - calls, capture_status(capturing));
	printf("end %d\n", capture_end(capturing));
	kernel_verify(other, 2, WORDS, errors, second);
	NEED(cudaFreeAsync(other, second));
	NEED(cudaMallocAsync((void **)&other, size_bytes, second));
	kernel_fill(other, 4, WORDS, second);
	NEED(cudaFreeAsync(other, second));
	printf("%u words wrong\n", errors_read(errors));
}

/* cudaFree while a capture is open. */
static void frees(enum cudaStreamCaptureMode mode)
{
	cudaStream_t capturing = stream_new(), first = stream_new(), second = stream_new();
	uint32_t *words, *other;
	unsigned long calls;

	NEED(cudaMalloc((void **)&words, size_bytes));
	pending_reader(words, 1, first);
	capture_begin(capturing, mode);
	calls = conflicting_calls();
	printf("free %d, ", cudaFree(words));
	printf("%lu calls, ", conflicting_calls() - calls);
	printf("end %d\n", capture_end(capturing));
	NEED(cudaMalloc((void **)&other, size_bytes));
	kernel_fill(other, 2, WORDS, second);
	printf("%u words wrong\n", errors_read(errors));
	NEED(cudaFree(other));
}

static void frees_relaxed(void)
{
	frees(cudaStreamCaptureModeRelaxed);
}

static void frees_global(void)
{
	frees(cudaStreamCaptureModeGlobal);
}

static void mallocs(void)
{
	cudaStream_t stream = stream_new();

	capture_begin(stream, cudaStreamCaptureModeGlobal);
	printf("relaxed %d, ", malloc_in_mode(cudaStreamCaptureModeRelaxed));
	printf("end %d\n", capture_end(stream));
	capture_begin(stream, cudaStreamCaptureModeGlobal);
	printf("global %d, ", malloc_in_mode(cudaStreamCaptureModeGlobal));
	printf("status %d, ", capture_status(stream));
	printf("end %d\n", capture_end(stream));
	capture_begin(stream, cudaStreamCaptureModeThreadLocal);
	printf("thread-local %d, ", malloc_in_mode(cudaStreamCaptureModeThreadLocal));
	printf("end %d\n", capture_end(stream));
	printf("afterwards served: %d\n", served());
}

/* All memory is idle in the cache when a capture begins: the driver serves from what the cache gives back. */
static void room(void)
{
	cudaStream_t capturing = stream_new(), stream = stream_new();
	size_t free_bytes, total_bytes;
	unsigned long calls;
	void *all, *large;

	NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
	NEED(cudaMallocAsync(&all, free_bytes / 4 * 3, stream));
	NEED(cudaFreeAsync(all, stream));
	NEED(cudaDeviceSynchronize());
	capture_begin(capturing, cudaStreamCaptureModeGlobal);
	calls = conflicting_calls();
	printf("large %d, ", cudaMallocAsync(&large, free_bytes / 4 * 3, stream));
	printf("larger %d, ", cudaMallocAsync(&all, total_bytes, stream));
	printf("%lu calls, ", conflicting_calls() - calls);
	printf("end %d\n", capture_end(capturing));
	printf("free %d\n", cudaFreeAsync(large, stream));
	NEED(cudaDeviceSynchronize());
}

/* An event wait makes a second stream part of the capture. */
static void joined(void)
{
	cudaStream_t first = stream_new(), second = stream_new(), third = stream_new();
	uint32_t *words, *other;
	cudaEvent_t fork_event, join_event;
	void *node;

	NEED(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
	NEED(cudaEventCreateWithFlags(&join_event, cudaEventDisableTiming));
	NEED(cudaMallocAsync((void **)&words, size_bytes, second));
	NEED(cudaMallocAsync((void **)&other, size_bytes, third));
	kernel_fill(words, 1, WORDS, second);
	capture_begin(first, cudaStreamCaptureModeGlobal);
	NEED(cudaEventRecord(fork_event, first));
	NEED(cudaStreamWaitEvent(second, fork_event, 0));
	printf("status %d, ", capture_status(second));
	printf("free there %d, ", cudaFreeAsync(words, second));
	printf("elsewhere %d, ", cudaFreeAsync(other, third));
	NEED(cudaMallocAsync(&node, size_bytes, second));
	printf("a node %d, ", cudaFreeAsync(node, second));
	NEED(cudaEventRecord(join_event, second));
	NEED(cudaStreamWaitEvent(first, join_event, 0));
	printf("end %d\n", capture_end(first));
	kernel_verify(words, 1, WORDS, errors, second);
	printf("free afterwards %d, ", cudaFreeAsync(words, second));
	printf("%u words wrong\n", errors_read(errors));
}

/* --- Captures that do not end as they should: afterwards memory is served again. */

static void broken(void)
{
	cudaStream_t stream = stream_new();

	capture_begin(stream, cudaStreamCaptureModeRelaxed);
	printf("synchronize %d, ", cudaStreamSynchronize(stream));
	printf("end %d, ", capture_end(stream));
	printf("again %d, ", capture_end(stream));
	printf("served %d\n", served());
}

static void refused(void)
{
	printf("begin %d, ", cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
	printf("served %d\n", served());
}

static void destroyed(void)
{
	cudaStream_t stream = stream_new();

	capture_begin(stream, cudaStreamCaptureModeGlobal);
	NEED(cudaStreamDestroy(stream));
	printf("served %d\n", served());
}

static void reset(void)
{
	capture_begin(stream_new(), cudaStreamCaptureModeGlobal);
	NEED(cudaDeviceReset());
	NEED(cudaFree(NULL));
	served(); /* the first call of a new context finds the device */
	printf("served %d\n", served());
}

/* Begun through one name of the thread's default stream, ended through another. */
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode);

static void default_stream(void)
{
	NEED(cudaStreamBeginCapture_ptsz(NULL, cudaStreamCaptureModeGlobal));
	printf("end %d, ", capture_end(cudaStreamPerThread));
	printf("served %d\n", served());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} situations[] = {{"others", others},
			  {"frees", frees_relaxed},
			  {"frees-global", frees_global},
			  {"mallocs", mallocs},
			  {"room", room},
			  {"joined", joined},
			  {"broken", broken},
			  {"refused", refused},
			  {"destroyed", destroyed},
			  {"reset", reset},
			  {"default-stream", default_stream}};
	const char *situation = argc > 1 ? argv[1] : "";

	kernels_register();
	errors = errors_new();
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++)
		if (strcmp(situation, situations[i].name) == 0)
			situations[i].run();
	return 0;
}
