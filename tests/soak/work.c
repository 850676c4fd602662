/* What streams do with buffers: see work.h. */
#include "tests/soak/work.h"

#include <stdlib.h>
#include <string.h>

#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"

cudaError_t cudaMemsetAsync_ptsz(void *memory, int value, size_t size_bytes, cudaStream_t stream);

enum { RESULTS_MAX = 8192 };

static uint64_t *results; /* pinned; each entry is written once */
static unsigned result_count;

void results_start(void)
{
	context_enter(0);
	NEED_OK(cudaHostAlloc((void **)&results, RESULTS_MAX * sizeof(*results), cudaHostAllocPortable));
	memset(results, 0, RESULTS_MAX * sizeof(*results));
}

void results_print(void)
{
	for (unsigned i = 0; i < result_count; i++)
		say("result %u: %016llx", i, (unsigned long long)results[i]);
}

void work_digest(struct buffer *buffer, int stream)
{
	if (result_count == RESULTS_MAX)
		return;
	buffer_use(stream, NULL, buffer);
	kernel_digest(buffer->words, buffer->count, &results[result_count], streams[stream].handle);
	say("result %u is of buffer %d", result_count++, buffer_number(buffer));
}

void work_digest_fill(uint32_t *words, uint64_t count, uint32_t salt, int stream)
{
	uint32_t *here;

	if (result_count == RESULTS_MAX)
		return;
	if (words != NULL) {
		stream_submit(stream);
		kernel_fill(words, count, salt, streams[stream].handle);
		stream_submit(stream);
		kernel_digest(words, count, &results[result_count], streams[stream].handle);
	} else {
		here = malloc(count * 4);
		host_fill(here, count, salt);
		results[result_count] = digest_words(here, count);
		free(here);
	}
	say("result %u is of %llu words", result_count++, (unsigned long long)count);
}

/* A part of a buffer, mostly small and mostly not at its start. */
struct window {
	uint64_t from, count;
};

static struct window window_draw(uint64_t count)
{
	uint64_t most = count < 4096 ? count : 4096;
	struct window window = {.count = 1 + draw((uint32_t)most)};

	window.from = draw((uint32_t)(count - window.count + 1));
	if (draw(4) == 0)
		window.from = 0;
	return window;
}

static void set_async(uint32_t *words, int value, uint64_t count, cudaStream_t handle)
{
	if (handle == cudaStreamPerThread && way(2) == 0)
		NEED_OK(cudaMemsetAsync_ptsz(words, value, count * 4, NULL));
	else if (way(2) == 0)
		NEED_OK(cuMemsetD8Async((CUdeviceptr)words, (unsigned char)value, count * 4, handle));
	else
		NEED_OK(cudaMemsetAsync(words, value, count * 4, handle));
}

/* From memory that the program uses for something else right after the call. */
static void upload(struct buffer *buffer, int stream, struct window window, uint32_t salt)
{
	uint32_t *staging = malloc(window.count * 4);

	host_fill(staging, window.count, salt);
	buffer_use(stream, buffer, NULL);
	if (way(2) == 0)
		NEED_OK(cudaMemcpyAsync(buffer->words + window.from, staging, window.count * 4, cudaMemcpyDefault,
					streams[stream].handle));
	else
		NEED_OK(cudaMemcpyAsync(buffer->words + window.from, staging, window.count * 4, cudaMemcpyHostToDevice,
					streams[stream].handle));
	memset(staging, 0xEE, window.count * 4);
	free(staging);
}

void work_init(struct buffer *buffer, int stream)
{
	uint32_t salt = draw(1u << 31);

	switch (draw(3)) {
	case 0:
		upload(buffer, stream, (struct window){0, buffer->count}, salt);
		break;
	case 1:
		buffer_use(stream, buffer, NULL);
		set_async(buffer->words, (int)(salt & 255), buffer->count, streams[stream].handle);
		break;
	default:
		buffer_use(stream, buffer, NULL);
		kernel_fill(buffer->words, buffer->count, salt, streams[stream].handle);
	}
}

void work_mix(int stream)
{
	struct buffer *dst = buffer_pick(streams[stream].context), *src = buffer_pick(streams[stream].context);
	struct window window;
	uint64_t from;

	if (dst == NULL)
		return;
	window = window_draw(dst->count < src->count ? dst->count : src->count);
	from = dst->count == src->count ? window.from : draw((uint32_t)(dst->count - window.count + 1));
	say("buffer %d at %llu mixes with %d at %llu, %llu words", buffer_number(dst), (unsigned long long)from,
	    buffer_number(src), (unsigned long long)window.from, (unsigned long long)window.count);
	buffer_use(stream, dst, dst != src ? src : NULL);
	kernel_mix(dst->words + from, src->words + window.from, window.count, draw(1u << 31), streams[stream].handle);
}

static struct buffer *any_source(int context)
{
	struct buffer *found[BUFFERS];
	unsigned count = 0;

	for (unsigned i = 0; i < BUFFERS; i++)
		if (buffers[i].live && contexts[buffers[i].context].alive &&
		    (buffer_reachable(&buffers[i], context) || buffer_kinds[buffers[i].kind].device))
			found[count++] = &buffers[i];
	return count != 0 ? found[draw(count)] : NULL;
}

static void copy_between(struct buffer *dst, struct buffer *src, uint32_t *to, const uint32_t *from, size_t size_bytes,
			 int stream)
{
	cudaStream_t handle = streams[stream].handle;
	bool to_host = !buffer_kinds[dst->kind].device, from_host = !buffer_kinds[src->kind].device;
	bool far = !buffer_reachable(src, streams[stream].context);
	enum cudaMemcpyKind kind = to_host     ? from_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost
				   : from_host ? cudaMemcpyHostToDevice
					       : cudaMemcpyDeviceToDevice;

	if (to_host && !from_host)
		buffer_use_copy(stream, dst, src);
	else
		buffer_use(stream, dst, src);
	if (far || (!to_host && !from_host && way(8) == 0))
		NEED_OK(cuMemcpyPeerAsync((CUdeviceptr)to, contexts[dst->context].handle, (CUdeviceptr)from,
					  contexts[src->context].handle, size_bytes, handle));
	else if (way(4) == 0)
		NEED_OK(cudaMemcpy2DAsync(to, size_bytes, from, size_bytes, size_bytes, 1, kind, handle));
	else if (way(3) == 0)
		NEED_OK(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, size_bytes, handle));
	else
		NEED_OK(cudaMemcpyAsync(to, from, size_bytes, way(3) == 0 ? cudaMemcpyDefault : kind, handle));
}

void work_copy(int stream)
{
	struct buffer *dst = buffer_pick(streams[stream].context), *src = any_source(streams[stream].context);
	struct window window;
	uint64_t from;

	if (dst == NULL)
		return;
	if (draw(4) == 0) {
		window = window_draw(dst->count);
		say("buffer %d at %llu gets %llu words of the host", buffer_number(dst),
		    (unsigned long long)window.from, (unsigned long long)window.count);
		upload(dst, stream, window, draw(1u << 31));
		return;
	}
	/* To a far buffer only from a device, and not onto itself. */
	if (src == NULL || src == dst ||
	    (!buffer_reachable(src, streams[stream].context) && !buffer_kinds[dst->kind].device))
		return;
	window = window_draw(dst->count < src->count ? dst->count : src->count);
	from = draw((uint32_t)(src->count - window.count + 1));
	say("buffer %d at %llu gets %llu words of %d at %llu", buffer_number(dst), (unsigned long long)window.from,
	    (unsigned long long)window.count, buffer_number(src), (unsigned long long)from);
	copy_between(dst, src, dst->words + window.from, src->words + from, window.count * 4, stream);
}

void work_set(int stream)
{
	struct buffer *buffer = buffer_pick(streams[stream].context);
	struct window window;
	int value = (int)draw(256);

	if (buffer == NULL || !buffer_kinds[buffer->kind].device)
		return;
	window = window_draw(buffer->count);
	say("buffer %d at %llu: %llu words are set", buffer_number(buffer), (unsigned long long)window.from,
	    (unsigned long long)window.count);
	buffer_use(stream, buffer, NULL);
	if (way(4) == 0)
		NEED_OK(cudaMemset2DAsync(buffer->words + window.from, window.count * 4, value, window.count * 4, 1,
					  streams[stream].handle));
	else
		set_async(buffer->words + window.from, value, window.count, streams[stream].handle);
}

void work_delay(int stream)
{
	context_enter(streams[stream].context);
	stream_submit(stream);
	kernel_delay(1 + way(300), streams[stream].handle);
}

/* The host reads device memory, in one of the ways that are complete when they return. */
static void read_back(struct buffer *buffer, struct window window, uint32_t *words, int stream)
{
	const uint32_t *from = buffer->words + window.from;
	int legacy = stream_legacy(streams[stream].context);
	size_t size_bytes = window.count * 4;

	switch (way(3)) {
	case 0:
		buffer_use(stream, NULL, buffer);
		NEED_OK(cudaMemcpyAsync(words, from, size_bytes, cudaMemcpyDeviceToHost, streams[stream].handle));
		host_knows(&streams[stream].clock);
		return;
	case 1:
		buffer_use(legacy, NULL, buffer);
		NEED_OK(cudaMemcpy(words, from, size_bytes, cudaMemcpyDeviceToHost));
		break;
	default:
		buffer_use(legacy, NULL, buffer);
		NEED_OK(cuMemcpyDtoH(words, (CUdeviceptr)from, size_bytes));
	}
	host_knows(&streams[legacy].clock);
}

void work_check(int stream)
{
	struct buffer *buffer = buffer_pick(streams[stream].context);
	struct window window;
	uint32_t *words;
	uint64_t digest;

	if (buffer == NULL)
		return;
	window = draw(3) == 0 ? (struct window){0, buffer->count} : window_draw(buffer->count);
	if (buffer_kinds[buffer->kind].host && way(2) == 0) {
		buffer_host_read(buffer);
		digest = digest_words(buffer->words + window.from, window.count);
	} else if (!buffer_kinds[buffer->kind].device) {
		buffer_host_read(buffer);
		digest = digest_words(buffer->words + window.from, window.count);
	} else {
		words = malloc(window.count * 4);
		read_back(buffer, window, words, stream);
		digest = digest_words(words, window.count);
		free(words);
	}
	say("buffer %d at %llu, %llu words: %016llx", buffer_number(buffer), (unsigned long long)window.from,
	    (unsigned long long)window.count, (unsigned long long)digest);
}

void work_copy_then_free(int stream)
{
	struct buffer *src = buffer_pick(streams[stream].context), *dst = buffer_pick_host();
	struct buffer temporary;
	uint64_t count;

	if (src == NULL || dst == NULL || src == dst || !buffer_kinds[src->kind].device ||
	    buffer_kinds[dst->kind].device)
		return;
	buffer_make(&temporary, stream, draw(2) == 0 ? BUFFER_cudaMalloc : BUFFER_cuMemAlloc, buffer_draw_count());
	work_init(&temporary, stream);
	work_digest(&temporary, stream);
	count = 1 + draw((uint32_t)(dst->count < src->count ? dst->count : src->count));
	copy_between(dst, src, dst->words, src->words, count * 4, stream);
	buffer_free_now(&temporary);
	buffer_host_read(dst);
	say("buffer %d after a copy and a free: %016llx", buffer_number(dst),
	    (unsigned long long)digest_words(dst->words, count));
}

void work_churn(int stream)
{
	enum buffer_kind kind = buffer_draw_kind();
	uint64_t count = buffer_draw_count();
	unsigned rounds = 2 + draw(7);
	struct buffer temporary;
	int other = stream_pick(streams[stream].context);

	/* What another thread would have to do stays there. */
	if (other < 0 || streams[other].thread >= 0)
		other = stream;
	if (!buffer_kinds[kind].device || draw(4) == 0)
		kind = draw(2) == 0 ? BUFFER_cudaMalloc : BUFFER_cudaMallocAsync;
	for (unsigned i = 0; i < rounds; i++) {
		buffer_make(&temporary, i % 2 == 0 ? stream : other, kind, count);
		work_init(&temporary, i % 2 == 0 ? stream : other);
		if (draw(3) == 0)
			work_delay(i % 2 == 0 ? stream : other);
		work_digest(&temporary, draw(4) == 0 ? other : stream);
		buffer_free(&temporary, draw(4) == 0 ? other : stream);
	}
}
