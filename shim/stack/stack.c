/* See stack.h. A capture is: Python frames (python.h), then, where asked for and not remembered, the native frames
 * inside of the innermost Python frame (native.h), each interned below its caller (intern.h).
 *
 * Each thread has a record with its last capture and its counters. It is part of its counters' block (shim/core/counter.h) and goes
 * with it to a later thread. */
#include "shim/stack/stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/os.h"
#include "shim/core/counter.h"
#include "shim/stack/intern.h"
#include "shim/stack/native.h"
#include "shim/stack/python.h"
#include "shim/stack/table.h"

/* Where native frames lead that were seen before: a mixture of all their addresses, of the stack that they are below, and of
 * the generation of modules, in place of these. Each has two places, the newer one the first. */
#define NATIVE_FOUND_COUNT 2048u

struct native_found {
	uint64_t key; /* 0 = nothing */
	uint32_t node;
};

struct gs_stack_thread {
	uint32_t serial;   /* of the owner, or of the last one */
	_Atomic bool busy; /* a capture is running: a signal handler that comes back in is turned away */

	/* Written by the owner only, read by anybody. */
	_Atomic uint64_t captures;
	_Atomic uint64_t native_walks;
	_Atomic uint64_t cut;

	struct native_found native[NATIVE_FOUND_COUNT];
	struct gs_unwind unwind;
	struct gs_python_last python;
	struct gs_trails trails;
};

/* Where the native frames below a Python stack lead: the key of `native frames on first sight only`. */
struct site {
	uint32_t base;
	uint32_t stack;
	uint64_t call_site;
};

GSB_HOT static unsigned stack_flags; /* fixed at init */
GSB_HOT static const struct gs_stack_origin *stack_origin; /* the same; NULL = none */

static struct gs_table sites = GS_TABLE_INIT(struct site, 1u << 18);

void gs_stack_init(unsigned flags)
{
	stack_flags = flags;
}

void gs_stack_origin_set(const struct gs_stack_origin *origin)
{
	stack_origin = origin;
}

/* --- threads --- */

/* One that another thread has left: that may have died in the middle of a capture, and its stack may be gone. */
static void thread_take_over(struct gs_stack_thread *thread)
{
	atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
	thread->unwind.low = thread->unwind.high = 0;
	thread->serial = gs_thread_serial();
}

/* The calling thread's; NULL: there are no pages for it. */
static struct gs_stack_thread *thread_own(void)
{
	struct gs_counter_block *block = gs_counter_block_own();
	struct gs_stack_thread *thread;

	if (gs_thread.counters == NULL)
		return NULL; /* it counts in the last resort, which several threads share */
	thread = atomic_load_explicit(&block->stacks, memory_order_relaxed);
	if (__builtin_expect(thread == NULL, 0)) {
		thread = gsb_os_pages_map(sizeof(*thread));
		atomic_store_explicit(&block->stacks, thread, memory_order_release);
	}
	if (thread != NULL && __builtin_expect(thread->serial != gs_thread_serial(), 0))
		thread_take_over(thread);
	return thread;
}

static uint64_t count_up(_Atomic uint64_t *counter)
{
	uint64_t count = atomic_load_explicit(counter, memory_order_relaxed) + 1;

	atomic_store_explicit(counter, count, memory_order_relaxed);
	return count;
}

/* --- native frames --- */

/* How many of the frames, innermost first, lie inside of the innermost Python frame. */
static size_t inside_python(const struct gs_python_layout *layout, const uint64_t *frames, size_t count)
{
	size_t inside = 0;

	while (inside < count &&
	       (frames[inside] < layout->interpreter.start || frames[inside] >= layout->interpreter.end))
		inside++;
	return inside;
}

static uint64_t native_key(uint32_t base, uint32_t generation, const uint64_t *frames, size_t count)
{
	uint64_t key = (uint64_t)base << 32 | generation;

	for (size_t at = 0; at < count; at++)
		key = (key + frames[at]) * 0x9e3779b97f4a7c15u;
	return (key ^ key >> 32) + count;
}

/* Interned from the outermost one on, below base. */
static uint32_t native_intern(struct gs_stack_thread *thread, uint32_t base, const uint64_t *frames, size_t count, bool *ret_cut)
{
	uint32_t node = base;

	while (count > 0) {
		const struct gs_address *known = gs_unwind_look_up(&thread->unwind, frames[--count]);

		if (known == NULL || gs_node_intern(node, known->frame, &node) != GS_OK) {
			*ret_cut = true;
			break;
		}
	}
	return node;
}

/* Where the frames lead. */
static uint32_t native_find(struct gs_stack_thread *thread, uint32_t base, const uint64_t *frames, size_t count, bool *ret_cut)
{
	uint64_t key = native_key(base, thread->unwind.generation, frames, count);
	struct native_found *first = &thread->native[key % NATIVE_FOUND_COUNT];
	struct native_found *second = &thread->native[key % NATIVE_FOUND_COUNT ^ 1];

	if (first->key == key)
		return first->node;
	if (second->key == key)
		return second->node;
	*second = *first;
	first->key = 0;
	first->node = native_intern(thread, base, frames, count, ret_cut);
	first->key = *ret_cut ? 0 : key;
	return first->node;
}

static uint32_t native_capture(struct gs_stack_thread *thread, const struct gs_python_layout *layout, uint32_t base,
			       bool *ret_cut)
{
	uint64_t frames[GS_NATIVE_FRAMES_MAX];
	struct gs_trail *trail = NULL;
	struct gs_place place;
	uint32_t node;
	size_t count;

	count_up(&thread->native_walks);
	if (gs_native_enter(&thread->unwind, &place)) {
		trail = gs_trail_of(&thread->trails, base, &place);
		if (gs_trail_holds(trail, base, thread->unwind.generation, &place, thread->unwind.high))
			return trail->node;
	}
	count = gs_native_walk(&thread->unwind, trail != NULL ? &place : NULL, trail, frames);
	if (base != 0)
		count = inside_python(layout, frames, count);
	node = native_find(thread, base, frames, count, ret_cut);
	if (trail != NULL && !*ret_cut)
		gs_trail_keep(trail, base, node);
	return node;
}

static bool site_same(const void *item, const void *key)
{
	const struct site *site = item, *wanted = key;

	return site->base == wanted->base && site->call_site == wanted->call_site;
}

static uint32_t native_once(struct gs_stack_thread *thread, const struct gs_python_layout *layout, uint32_t base,
			    const void *call_site, bool *ret_cut)
{
	struct site site = {.base = base, .call_site = (uint64_t)(uintptr_t)call_site};
	uint32_t hash = gs_hash(site.call_site, base), number;

	if (gs_table_find(&sites, hash, site_same, &site, &number))
		return ((const struct site *)gs_table_at(&sites, number))->stack;
	site.stack = native_capture(thread, layout, base, ret_cut);
	if (!*ret_cut && gs_table_intern(&sites, hash, site_same, &site, &number) != GS_OK)
		*ret_cut = true;
	return site.stack;
}

/* --- capturing --- */

static uint32_t capture(struct gs_stack_thread *thread, const void *call_site)
{
	const struct gs_python_layout *layout = NULL;
	uint64_t attempt = count_up(&thread->captures);
	uint32_t stack = 0;
	bool cut = false, outer = false;

	if ((stack_flags & GS_STACK_PYTHON) != 0)
		layout = gs_python_layout(attempt);
	if (layout != NULL)
		stack = gs_python_capture(layout, &thread->python, &cut);
	if (layout != NULL && stack_origin != NULL) {
		if (stack == 0) {
			stack = stack_origin->outer();
			outer = true;
		} else {
			stack_origin->seen(stack);
		}
	}
	/* An operation of the backward pass allocates several things; only native frames tell them apart. */
	if ((stack_flags & GS_STACK_ALL) != 0 || ((stack_flags & GS_STACK_NATIVE) != 0 && (stack == 0 || outer)))
		stack = native_capture(thread, layout, stack, &cut);
	else if ((stack_flags & GS_STACK_NATIVE) != 0)
		stack = native_once(thread, layout, stack, call_site, &cut);
	if (cut)
		count_up(&thread->cut);
	return stack;
}

uint32_t gs_stack_capture(const void *call_site)
{
	struct gs_stack_thread *thread;
	int saved_errno = errno;
	uint32_t stack;

	if (stack_flags == GS_STACK_OFF)
		return 0;
	thread = thread_own();
	if (thread == NULL || atomic_load_explicit(&thread->busy, memory_order_relaxed))
		return 0;
	atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
	stack = capture(thread, call_site);
	atomic_store_explicit(&thread->busy, false, memory_order_release);
	errno = saved_errno;
	return stack;
}

/* --- reading --- */

void gs_stack_counters_read(struct gs_stack_counters *ret_counters)
{
	struct gs_stack_counters counters = {.python = gs_python_name(), .native = gs_native_name()};

	for (const struct gs_counter_block *block = gs_counter_blocks(); block != NULL; block = block->next) {
		const struct gs_stack_thread *thread = atomic_load_explicit(&block->stacks, memory_order_acquire);

		if (thread == NULL)
			continue;
		counters.captures += atomic_load_explicit(&thread->captures, memory_order_relaxed);
		counters.native_walks += atomic_load_explicit(&thread->native_walks, memory_order_relaxed);
		counters.cut += atomic_load_explicit(&thread->cut, memory_order_relaxed);
	}
	*ret_counters = counters;
}

void gs_stack_reset_locks(void)
{
	gs_table_reset_locks();
}
