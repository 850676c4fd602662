/* Rule: a free in the order of the legacy default stream is work as any other there: it waits for blocking streams, and they for
 * it. An allocation is none. Whoever asks or waits for that stream asks or waits for all blocking streams. While one of these
 * captures, neither is to be had: both break the capture, and what was to be freed lives on. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)8 << 20)

static CUstream busy, other;
static CUdeviceptr word, block, plain;

static void nothing(void)
{
}

static void allocate(void)
{
	NEED(cuMemAllocAsync(&block, BYTES, NULL));
}

static void give_back(void)
{
	NEED(cuMemFreeAsync(block, NULL));
}

static void give_back_plain(void)
{
	NEED(cuMemFreeAsync(plain, NULL));
}

static void set(void)
{
	NEED(cuMemsetD8Async(word + 64, 1, 4, NULL));
}

static void record(void)
{
	CUevent event;

	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventRecord(event, NULL));
	NEED(cuEventDestroy(event));
}

/* Whether the call makes what is given to `other` afterwards wait for what `busy` has to do. */
static int orders(void (*call)(void))
{
	CUresult found;

	NEED(cuCtxSynchronize());
	rule_delay(busy, 20000);
	call();
	rule_fill(other, word, 1, 1);
	WANT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	for (int looks = 0; looks < 1000 && (found = cuStreamQuery(other)) == CUDA_ERROR_NOT_READY; looks++)
		if (cuStreamQuery(busy) == CUDA_SUCCESS)
			break;
	WANT(cuStreamQuery(busy), CUDA_ERROR_NOT_READY);
	return found == CUDA_ERROR_NOT_READY;
}

static void captures(void (*call)(void))
{
	CUstreamCaptureStatus status;
	CUgraph graph;
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	call();
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	WANT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	NEED(cuStreamDestroy(stream));
}

static void allocate_refused(void)
{
	CUdeviceptr none;

	WANT(cuMemAllocAsync(&none, BYTES, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

static void give_back_refused(void)
{
	WANT(cuMemFreeAsync(block, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

int main(void)
{
	rule_start();
	NEED(cuStreamCreate(&busy, CU_STREAM_DEFAULT));
	NEED(cuStreamCreate(&other, CU_STREAM_DEFAULT));
	NEED(cuMemAlloc(&word, 128));
	NEED(cuMemAlloc(&plain, BYTES));
	rule_delay(busy, 1);
	rule_fill(other, word, 1, 1);
	WANT(orders(nothing), 0);
	WANT(orders(allocate), 0);
	WANT(orders(give_back), 1);
	WANT(orders(allocate), 0);
	WANT(orders(give_back), 1);
	WANT(orders(give_back_plain), 1);
	WANT(orders(set), 1);
	WANT(orders(record), 1);
	rule_delay(busy, 100);
	NEED(cuStreamSynchronize(NULL));
	WANT(cuStreamQuery(busy), CUDA_SUCCESS);
	allocate();
	captures(allocate_refused);
	captures(give_back_refused);
	give_back();
	NEED(cuCtxSynchronize());
	return rule_broken;
}
