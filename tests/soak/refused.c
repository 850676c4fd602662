/* Calls that have to fail: see refused.h. */
#include "tests/soak/refused.h"

#include <stdlib.h>

#include "tests/preload/shadow.h"
#include "tests/soak/buffer.h"
#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/say.h"

/* What is surely no allocation. */
static void *stranger(void)
{
	static char own[64];
	static void *heap;

	if (heap == NULL)
		heap = malloc(64);
	switch (draw(4)) {
	case 0:
		return own;
	case 1:
		return heap;
	case 2:
		return (void *)64;
	default:
		return (void *)-1;
	}
}

static void frees(int stream)
{
	cudaStream_t handle = streams[stream].handle;
	struct buffer *buffer = buffer_pick(streams[stream].context);
	void *inside = buffer != NULL ? (char *)buffer->words + 4 : stranger();

	switch (draw(6)) {
	case 0:
		SAY_CODE(cudaFree(inside));
		break;
	case 1:
		SAY_CODE(cudaFreeAsync(inside, handle));
		break;
	case 2:
		SAY_CODE(cudaFree(stranger()));
		break;
	case 3:
		SAY_CODE(cudaFreeAsync(stranger(), handle));
		break;
	case 4:
		SAY_CODE(cudaFreeHost(stranger()));
		break;
	default:
		SAY_CODE(cudaHostUnregister(stranger()));
	}
}

/* Freed twice, by the same call or by both. */
static void double_free(int stream)
{
	cudaStream_t handle = streams[stream].handle;
	struct buffer temporary;
	bool ordered = draw(2) == 0, first = draw(2) == 0, second = draw(2) == 0;

	if (say_is_small()) /* the code is that of an allocation that may not be there */
		return;
	buffer_make(&temporary, stream, ordered ? BUFFER_cudaMallocAsync : BUFFER_cudaMalloc, buffer_draw_count());
	if (ordered && !first)
		host_await(&temporary.touched);
	context_enter(streams[stream].context);
	shadow_end(temporary.words);
	if (first) {
		stream_submit(stream);
		NEED_OK(cudaFreeAsync(temporary.words, handle));
	} else {
		NEED_OK(cudaFree(temporary.words));
	}
	if (second)
		SAY_CODE(cudaFreeAsync(temporary.words, handle));
	else
		SAY_CODE(cudaFree(temporary.words));
}

static void sizes(int stream)
{
	static const size_t too_large[] = {(size_t)1 << 60, (size_t)-1, (size_t)-4096, (size_t)1 << 45};
	cudaStream_t handle = streams[stream].handle;
	void *memory = &memory;

	switch (draw(7)) {
	case 0:
		SAY_CODE(cudaMalloc(&memory, too_large[draw(4)]));
		break;
	case 1:
		SAY_CODE(cudaMallocAsync(&memory, too_large[draw(4)], handle));
		break;
	case 2:
		SAY_CODE(cudaMalloc(NULL, 4096));
		break;
	case 3:
		SAY_CODE(cudaMallocAsync(NULL, 4096, handle));
		break;
	case 4:
		SAY_CODE(cuMemAlloc((CUdeviceptr *)&memory, 0));
		break;
	case 5:
		SAY_CODE(cudaMalloc(&memory, 0));
		say("NULL: %d", memory == NULL);
		break;
	default:
		SAY_CODE(cudaMallocFromPoolAsync(&memory, 4096, NULL, handle));
	}
}

/* A stream and an event whose handles are gone. */
static void handles(int stream)
{
	cudaStream_t gone;
	cudaEvent_t event;
	void *memory;

	NEED_OK(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
	NEED_OK(cudaStreamDestroy(gone));
	NEED_OK(cudaEventCreate(&event));
	NEED_OK(cudaEventDestroy(event));
	switch (draw(6)) {
	case 0:
		SAY_CODE(cudaMallocAsync(&memory, 4096, gone));
		break;
	case 1:
		SAY_CODE(cudaStreamSynchronize(gone));
		break;
	case 2:
		SAY_CODE(cudaStreamDestroy(gone));
		break;
	case 3:
		SAY_CODE(cudaEventRecord(event, streams[stream].handle));
		break;
	case 4:
		SAY_CODE(cudaStreamWaitEvent(streams[stream].handle, event, 0));
		break;
	default:
		SAY_CODE(cudaEventQuery(event));
	}
}

static void others(int stream)
{
	uint32_t word;
	CUgraph graph;

	switch (draw(6)) {
	case 0:
		SAY_CODE(cudaSetDevice(99));
		break;
	case 1:
		SAY_CODE(cudaMemcpyAsync(&word, &word, 4, (enum cudaMemcpyKind)7, streams[stream].handle));
		break;
	case 2:
		SAY_CODE(cuMemRelease(12345));
		break;
	case 3:
		SAY_CODE(cuMemUnmap((CUdeviceptr)1 << 40, 2 << 20));
		break;
	case 4:
		SAY_CODE(cudaStreamEndCapture(streams[stream].handle, &graph));
		break;
	default:
		SAY_CODE(cudaMemcpyAsync(&word, &word, 4, cudaMemcpyHostToDevice, streams[stream].handle));
	}
}

void refused_one(int stream)
{
	static void (*const families[])(int) = {frees, double_free, double_free, sizes, handles, others};

	families[draw(6)](stream);
}
