/* See counter.h. */
#include "shim/core/counter.h"

#include <pthread.h>

#include "shim/base/assert.h"
#include "shim/base/fault.h"
#include "shim/base/os.h"
#include "shim/watch/proven.h"

_Atomic uint64_t gs_counter_unlisted;

static _Atomic(struct gs_counter_block *) all_blocks;

/* Used when there are no pages, or nothing tells of a thread's end: counts of several threads meet here and some may be lost. */
static struct gs_counter_block shared_block;

#define WORK_THREADS_MAX 32

static pthread_key_t thread_end;
static bool has_thread_end; /* the program may have taken all keys; fixed at init, as is the key */

static void thread_ended(void *block)
{
	gs_proven_thread_ends(gs_thread.serial);
	gs_thread.counters = NULL;
	gs_thread.routes = NULL;
	atomic_store_explicit(&((struct gs_counter_block *)block)->owner, 0, memory_order_release);
}

void gs_counter_init(void)
{
	has_thread_end = pthread_key_create(&thread_end, thread_ended) == 0;
	atomic_store(&shared_block.owner, UINT32_MAX);
	shared_block.next = NULL;
	atomic_store(&all_blocks, &shared_block);
}

const struct gs_counter_block *gs_counter_blocks(void)
{
	return atomic_load(&all_blocks);
}

static struct gs_counter_block *reuse_block(uint32_t tid)
{
	for (struct gs_counter_block *block = atomic_load(&all_blocks); block != NULL; block = block->next) {
		uint32_t nobody = 0;

		if (!atomic_compare_exchange_strong(&block->owner, &nobody, tid))
			continue;
		block->waited = NULL; /* the new owner has not */
		return block;
	}
	return NULL;
}

static struct gs_counter_block *make_block(uint32_t tid)
{
	struct gs_counter_block *block =
		gsb_fault(GSB_FAULT_THREAD) ? NULL : gsb_os_pages_map(sizeof(struct gs_counter_block));

	if (block == NULL)
		return NULL;
	atomic_store(&block->owner, tid);
	block->next = atomic_load(&all_blocks);
	while (!atomic_compare_exchange_weak(&all_blocks, &block->next, block))
		;
	return block;
}

struct gs_counter_block *gs_counter_block_take(void)
{
	uint32_t tid = gs_thread_id();
	struct gs_counter_block *block;

	gsb_debug_assert(gs_counter_blocks() != NULL); /* gs_counter_init */
	if (!has_thread_end)
		return &shared_block;
	block = reuse_block(tid);
	if (block == NULL)
		block = make_block(tid);
	if (block == NULL)
		return &shared_block;
	if (pthread_setspecific(thread_end, block) != 0) {
		atomic_store_explicit(&block->owner, 0, memory_order_release);
		return &shared_block;
	}
	gs_thread.counters = block;
	return block;
}

/* Of the shared block some counts may be lost. */
bool gs_counter_work(bool ended, uint64_t *ret_count)
{
	uint64_t count = 0;
	unsigned threads = 0;

	if (atomic_load(&gs_counter_unlisted) != 0 || atomic_load(&shared_block.work_begun) != 0)
		return false;
	for (struct gs_counter_block *block = atomic_load(&all_blocks); block != NULL; block = block->next) {
		count += atomic_load_explicit(ended ? &block->work_ended : &block->work_begun, memory_order_acquire);
		if (++threads > WORK_THREADS_MAX)
			return false;
	}
	*ret_count = count;
	return true;
}

uint64_t gs_counter_pieces(bool ended)
{
	uint64_t count = atomic_load_explicit(&gs_counter_unlisted, memory_order_relaxed);

	for (struct gs_counter_block *block = atomic_load(&all_blocks); block != NULL; block = block->next)
		count += atomic_load_explicit(ended ? &block->work_ended : &block->work_begun, memory_order_acquire);
	return count;
}

size_t gs_counter_count(void)
{
	return GS_FN_COUNT;
}

void gs_counter_read(size_t index, struct gs_counter *ret_counter)
{
	const struct gs_fn_info *info = &gs_fn_info[index];
	uint64_t calls = 0, ticks = 0;

	for (struct gs_counter_block *block = atomic_load(&all_blocks); block != NULL; block = block->next) {
		calls += atomic_load_explicit(&block->fn[index].calls, memory_order_relaxed);
		ticks += atomic_load_explicit(&block->fn[index].ticks, memory_order_relaxed);
	}
	*ret_counter = (struct gs_counter){
		.name = info->symbol,
		.layer = gs_fn_is_driver((enum gs_fn)index) ? "driver" : "runtime",
		.call_class = gs_class_key(info->call_class),
		.calls = calls,
		.host_ns = gs_ticks_to_ns(ticks),
	};
}
