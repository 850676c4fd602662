/* The ends of things: see life.h. */
#include "tests/soak/life.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/shadow.h"
#include "tests/soak/buffer.h"
#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/event.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"
#include "tests/soak/work.h"

static int make(int device)
{
	int context = context_make(device);

	if (context >= 0) {
		streams_start(context);
		say("context %d is made", context);
	}
	return context;
}

static void destroy(int context)
{
	struct clock clock;
	void *dead;

	buffers_await_others(context);
	clock = context_clock(context);
	context_destroy(context);
	host_knows(&clock);
	streams_forget(context);
	events_forget(context);
	dead = buffers_forget(context);
	say("context %d is destroyed", context);
	context_enter(contexts[context].device);
	if (dead != NULL && !say_is_small())
		SAY_CODE(cudaFree(dead));
}

void life_context(int stream)
{
	int context = context_pick();

	(void)stream;
	if (contexts[context].made) {
		destroy(context);
		return;
	}
	context = make((int)draw((unsigned)device_count));
	if (context >= 0)
		stream_make(context);
}

void life_short_context(int stream)
{
	int home = streams[stream].context, context = make(contexts[home].device);
	int other = context >= 0 ? stream_make(context) : -1;
	uint64_t count = buffer_draw_count();
	struct buffer temporary, *kept;

	for (unsigned rounds = 1 + draw(4); other >= 0 && rounds > 0; rounds--) {
		buffer_make(&temporary, other, draw(3) == 0 ? BUFFER_cudaMallocAsync : BUFFER_cudaMalloc, count);
		work_init(&temporary, other);
		buffer_free(&temporary, other);
		if (draw(2) == 0)
			stream_await(other);
		kept = buffer_empty();
		if (kept == NULL || draw(2) == 0)
			continue;
		context_enter(home);
		buffer_make(kept, stream, draw(3) == 0 ? BUFFER_cudaMallocAsync : BUFFER_cudaMalloc, count);
		work_init(kept, stream);
	}
	if (context >= 0)
		destroy(context);
}

void life_after_reset(void)
{
	enum { WORDS = 5000 };
	uint32_t *dead, *words, found[WORDS];
	CUcontext current;
	cudaStream_t stream;

	/* Contexts that were made are still on the stack, with the one that goes below them. */
	while (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != NULL)
		NEED_OK(cuCtxPopCurrent(&current));
	NEED_OK(cudaSetDevice(0));
	NEED_OK(shadow_malloc((void **)&dead, WORDS * 4));
	NEED_OK(cudaDeviceReset());
	SAY_CODE(cudaFree(dead));
	NEED_OK(cudaStreamCreate(&stream));
	NEED_OK(shadow_malloc((void **)&words, WORDS * 4));
	kernel_fill(words, WORDS, 1, stream);
	NEED_OK(cudaMemcpyAsync(found, words, WORDS * 4, cudaMemcpyDeviceToHost, stream));
	NEED_OK(shadow_free(words));
	say("after the reset: %016llx", (unsigned long long)digest_words(found, WORDS));
}

static void pool_attributes(cudaMemPool_t pool)
{
	uint64_t used = 0, threshold = draw(2) == 0 ? 0 : 4u << 20;
	int on = (int)draw(2);

	SAY_CODE(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	if (!say_is_small())
		say("used %llu", (unsigned long long)used);
	SAY_CODE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	SAY_CODE(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on));
}

/* What cudaMallocAsync takes comes from the pool that is current. */
static void pool_serves(int stream, int device)
{
	struct buffer temporary;

	pool_set_current(device, draw(3) != 0);
	buffer_make(&temporary, stream, BUFFER_cudaMallocAsync, buffer_draw_count());
	pool_attributes(pool_own(device));
	buffer_free(&temporary, stream);
}

void life_pool(int stream)
{
	int device = contexts[streams[stream].context].device;
	cudaMemPool_t pool;

	NEED_OK(cudaDeviceGetDefaultMemPool(&pool, device));
	if (draw(2) == 0)
		pool = pool_own(device);
	switch (draw(4)) {
	case 0:
		pool_attributes(pool);
		break;
	case 1:
		SAY_CODE(cudaMemPoolTrimTo(pool, draw(2) == 0 ? 0 : 1 << 20));
		break;
	case 2:
		pool_serves(stream, device);
		break;
	default:
		if (!pool_in_use(device))
			pool_drop(device);
	}
}

void life_fork(int stream)
{
	int status = -1;
	pid_t child = fork();

	(void)stream;
	if (child == 0) {
		void *memory;

		_exit(cudaMalloc(&memory, 4096) != cudaSuccess ? 3 : 4);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	say("child: %d", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
}

static void ask_pointer(struct buffer *buffer)
{
	uint32_t *inside = buffer->words + draw((uint32_t)buffer->count);
	struct cudaPointerAttributes attributes;
	CUdeviceptr base = 0;
	size_t size_bytes = 0;
	int error;

	NEED_OK(cudaPointerGetAttributes(&attributes, inside));
	error = (int)cuMemGetAddressRange(&base, &size_bytes, (CUdeviceptr)inside);
	if (say_is_small())
		return;
	say("buffer %d: type %d, device %d, itself %d, range %d: %d, %zu bytes", buffer_number(buffer), attributes.type,
	    attributes.device, attributes.devicePointer == inside, error, base == (CUdeviceptr)buffer->words,
	    size_bytes);
}

void life_ask(int stream)
{
	struct buffer *buffer = buffer_pick(streams[stream].context);
	size_t free_bytes, total_bytes;

	if (buffer != NULL)
		ask_pointer(buffer);
	NEED_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
	say("free is at most all: %d", free_bytes <= total_bytes);
}
