/* Stand-in for libc10_cuda.so: allocating, freeing, reporting. See torch.h and cache.h. */
#include "tests/sim/torch/cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"
#include "tests/sim/torch/async.h"

#ifdef TORCH_SIGNED
extern c10_report_fn c10_report __asm__(C10_REPORT_SIGNED);
#else
extern c10_report_fn c10_report __asm__(C10_REPORT_UNSIGNED);
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct torch_stats stats;
static bool is_async, is_expandable;

void cache_need(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
	exit(9);
}

static bool setting(const char *text, const char *word)
{
	return text != NULL && strstr(text, word) != NULL;
}

static void settings_read(void)
{
	const char *text = getenv("PYTORCH_ALLOC_CONF");

	if (text == NULL)
		text = getenv("PYTORCH_CUDA_ALLOC_CONF");
	is_async = setting(text, "backend:cudaMallocAsync");
	is_expandable = setting(text, "expandable_segments:True");
}

void cache_enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, settings_read);
	pthread_mutex_lock(&lock);
}

void cache_leave(void)
{
	pthread_mutex_unlock(&lock);
}

bool segments_expandable(void)
{
	return is_expandable;
}

static void announce(const struct cache_block *block)
{
	sim_shadow_owner_fn *owner;

	*(void **)&owner = sim_find("sim_shadow_owner");
	if (owner != NULL && block->segment->key.pool == 0)
		owner((uintptr_t)block->address, block->size_bytes, block->segment->key.stream);
}

static void announce_end(const struct cache_block *block)
{
	sim_shadow_free_fn *end;

	*(void **)&end = sim_find("sim_shadow_free");
	if (end != NULL && block->segment->key.pool == 0)
		end((uintptr_t)block->address);
}

static uint64_t reserved_bytes(void)
{
	uint64_t bytes = 0;

	for (const struct cache_segment *segment = cache_segments; segment != NULL; segment = segment->next)
		bytes += segment->mapped_bytes;
	return bytes;
}

/* As PyTorch does: with the allocator's lock held, after the block has changed hands. */
static void report(const struct cache_block *block, int64_t size_bytes)
{
	struct c10_device device = {.type = 1, .index = (int8_t)block->segment->key.device};

	c10_report(block->address, size_bytes, stats.allocated_bytes, reserved_bytes(), device);
}

struct cache_block *block_cut(struct cache_block *block, size_t size_bytes)
{
	struct cache_block *rear = malloc(sizeof(*rear));

	if (rear == NULL)
		abort();
	*rear = *block;
	rear->address += size_bytes;
	rear->size_bytes -= size_bytes;
	rear->prev = block;
	if (rear->next != NULL)
		rear->next->prev = rear;
	block->size_bytes = size_bytes;
	block->next = rear;
	return rear;
}

static bool is_free(const struct cache_block *block)
{
	return !block->allocated && block->events == 0 && block->use_count == 0;
}

static bool alike(const struct cache_block *block, const struct cache_block *other)
{
	return is_free(block) && is_free(other) && block->mapped == other->mapped;
}

static void swallow(struct cache_block *block)
{
	struct cache_block *rear = block->next;

	block->size_bytes += rear->size_bytes;
	block->next = rear->next;
	if (block->next != NULL)
		block->next->prev = block;
	free(rear);
}

struct cache_block *block_merge(struct cache_block *block)
{
	if (block->next != NULL && alike(block, block->next))
		swallow(block);
	if (block->prev != NULL && alike(block->prev, block)) {
		block = block->prev;
		swallow(block);
	}
	return block;
}

void cache_block_idle(struct cache_block *block)
{
	stats.active_bytes -= block->size_bytes;
	block_merge(block);
}

static bool key_is(const struct cache_key *key, const struct cache_key *other)
{
	return key->device == other->device && key->pool == other->pool && key->small == other->small &&
	       key->stream == other->stream;
}

static struct cache_block *best_fit(const struct cache_key *key, size_t size_bytes)
{
	struct cache_block *best = NULL;

	for (struct cache_segment *segment = cache_segments; segment != NULL; segment = segment->next) {
		if (!key_is(&segment->key, key))
			continue;
		for (struct cache_block *block = segment->first; block != NULL; block = block->next)
			if (is_free(block) && block->mapped && block->size_bytes >= size_bytes &&
			    (best == NULL || block->size_bytes < best->size_bytes))
				best = block;
	}
	return best;
}

static bool worth_cutting(const struct cache_block *block, size_t size_bytes)
{
	size_t rest_bytes = block->size_bytes - size_bytes;

	return block->segment->key.small || block->segment->handle_bytes != 0 ? rest_bytes >= CACHE_ROUND_BYTES
									      : rest_bytes > CACHE_SMALL_BYTES;
}

static struct cache_block *serve(const struct cache_key *key, size_t size_bytes)
{
	struct cache_block *block = best_fit(key, size_bytes);

	if (block == NULL)
		block = segment_serve(key, size_bytes);
	if (block == NULL && !pools_capturing()) {
		stats.retries++;
		uses_await();
		segments_release();
		block = segment_serve(key, size_bytes);
	}
	if (block == NULL) {
		stats.out_of_memory++;
		return NULL;
	}
	if (worth_cutting(block, size_bytes))
		block_cut(block, size_bytes);
	block->allocated = true;
	return block;
}

void *torch_malloc(size_t size_bytes, cudaStream_t stream)
{
	struct cache_key key = {.stream = stream};
	struct cache_block *block;
	void *memory = NULL;

	if (size_bytes == 0)
		return NULL;
	cache_need(cudaGetDevice(&key.device), "cudaGetDevice");
	cache_enter();
	if (is_async) {
		memory = async_malloc(size_bytes, stream, &stats);
		cache_leave();
		return memory;
	}
	uses_poll();
	size_bytes = (size_bytes + CACHE_ROUND_BYTES - 1) / CACHE_ROUND_BYTES * CACHE_ROUND_BYTES;
	key.small = size_bytes <= CACHE_SMALL_BYTES;
	key.pool = pools_choose(key.device, stream);
	block = serve(&key, size_bytes);
	if (block != NULL) {
		memory = block->address;
		stats.allocated_bytes += block->size_bytes;
		stats.active_bytes += block->size_bytes;
		stats.tensors++;
		announce(block);
		report(block, (int64_t)block->size_bytes);
	}
	cache_leave();
	return memory;
}

static struct cache_block *block_of(const void *memory)
{
	for (struct cache_segment *segment = cache_segments; segment != NULL; segment = segment->next)
		for (struct cache_block *block = segment->first; block != NULL; block = block->next)
			if (block->address == memory && block->allocated)
				return block;
	fprintf(stderr, "torch: %p is no tensor\n", memory);
	exit(9);
}

void torch_free(void *memory)
{
	struct cache_block *block;

	if (memory == NULL)
		return;
	cache_enter();
	if (is_async) {
		async_free(memory, &stats);
	} else {
		int64_t size_bytes;

		block = block_of(memory);
		size_bytes = (int64_t)block->size_bytes;
		announce_end(block);
		block->allocated = false;
		stats.allocated_bytes -= block->size_bytes;
		stats.tensors--;
		report(block, -size_bytes);
		if (block->use_count > 0)
			uses_to_events(block);
		else
			cache_block_idle(block);
	}
	cache_leave();
}

size_t torch_bytes(const void *memory)
{
	size_t bytes;

	cache_enter();
	bytes = is_async ? async_bytes(memory) : block_of(memory)->size_bytes;
	cache_leave();
	return bytes;
}

void torch_record_stream(void *memory, cudaStream_t stream)
{
	struct cache_block *block;
	unsigned use = 0;

	cache_enter();
	if (is_async) {
		async_record_stream(memory, stream);
		cache_leave();
		return;
	}
	block = block_of(memory);
	while (use < block->use_count && block->uses[use] != stream)
		use++;
	if (stream != block->segment->key.stream && use == block->use_count && use < CACHE_USES_MAX)
		block->uses[block->use_count++] = stream;
	cache_leave();
}

void torch_empty_cache(void)
{
	cache_enter();
	if (is_async) {
		async_empty_cache();
	} else if (!pools_capturing()) {
		uses_await();
		segments_release();
	}
	cache_leave();
}

void torch_read_stats(struct torch_stats *ret_stats)
{
	cache_enter();
	*ret_stats = stats;
	ret_stats->reserved_bytes = is_async ? async_reserved_bytes() : reserved_bytes();
	for (const struct cache_segment *segment = cache_segments; segment != NULL; segment = segment->next)
		ret_stats->segments++;
	cache_leave();
}
