/* See stack.h. A capture is: Python frames (python.h), then, where asked for and not remembered, the native frames
 * inside of the innermost Python frame (native.h), each interned below its caller (intern.h).
 *
 * Each thread has a record with its last capture and its counters. Records are never given back, because the counters
 * count on; the record of a thread that is gone serves the next one. */
#include "shim/stack/stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/os.h"
#include "shim/stack/intern.h"
#include "shim/stack/native.h"
#include "shim/stack/python.h"
#include "shim/stack/table.h"

/* How many records are looked at for a dead owner before a new one is made. */
#define REUSE_PROBES 16u

/* Where native frames lead that were seen before: a mixture of all their addresses, of the stack that they are below, and of
 * the generation of modules, in place of these. Each has two places, the newer one the first. */
#define NATIVE_FOUND_COUNT 2048u

struct native_found {
	uint64_t key; /* 0 = nothing */
	uint32_t node;
};

struct thread {
	struct thread *next; /* fixed once published */
	_Atomic uint32_t tid;
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

static _Thread_local struct thread *self __attribute__((tls_model("initial-exec")));
static _Atomic(struct thread *) threads; /* adding is under the STACK lock */
static struct thread *reuse_next;	 /* guarded by the STACK lock */

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

static bool thread_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

/* A record whose owner had our number, or has gone. */
static struct thread *thread_reuse(uint32_t tid)
{
	struct thread *first = atomic_load_explicit(&threads, memory_order_relaxed);
	struct thread *thread = reuse_next != NULL ? reuse_next : first, *begin = thread;

	for (unsigned probe = 0; thread != NULL && probe < REUSE_PROBES; probe++) {
		uint32_t owner = atomic_load_explicit(&thread->tid, memory_order_relaxed);

		if (owner == tid || thread_dead(owner))
			return thread;
		reuse_next = thread->next;
		thread = reuse_next != NULL ? reuse_next : first;
		if (thread == begin)
			break;
	}
	return NULL;
}

static struct thread *thread_take(void)
{
	uint32_t tid = gsb_os_tid();
	struct thread *thread;

	gs_table_lock();
	thread = thread_reuse(tid);
	if (thread == NULL && (thread = gsb_os_pages_map(sizeof(*thread))) != NULL) {
		thread->next = atomic_load_explicit(&threads, memory_order_relaxed);
		atomic_store_explicit(&threads, thread, memory_order_release);
	}
	if (thread != NULL) {
		atomic_store_explicit(&thread->tid, tid, memory_order_relaxed);
		/* Takes over what the last owner wrote before it let go; it may have died in the middle. */
		atomic_exchange_explicit(&thread->busy, false, memory_order_acquire);
	}
	gs_table_unlock();
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
static uint32_t native_intern(struct thread *thread, uint32_t base, const uint64_t *frames, size_t count, bool *ret_cut)
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
static uint32_t native_find(struct thread *thread, uint32_t base, const uint64_t *frames, size_t count, bool *ret_cut)
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

static uint32_t native_capture(struct thread *thread, const struct gs_python_layout *layout, uint32_t base,
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

static uint32_t native_once(struct thread *thread, const struct gs_python_layout *layout, uint32_t base,
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

static uint32_t capture(struct thread *thread, const void *call_site)
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
	struct thread *thread = self;
	int saved_errno = errno;
	uint32_t stack;

	if (stack_flags == GS_STACK_OFF)
		return 0;
	if (thread == NULL) {
		thread = self = thread_take();
		if (thread == NULL)
			return 0;
	}
	if (atomic_load_explicit(&thread->busy, memory_order_relaxed))
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

	for (const struct thread *thread = atomic_load_explicit(&threads, memory_order_acquire); thread != NULL;
	     thread = thread->next) {
		counters.captures += atomic_load_explicit(&thread->captures, memory_order_relaxed);
		counters.native_walks += atomic_load_explicit(&thread->native_walks, memory_order_relaxed);
		counters.cut += atomic_load_explicit(&thread->cut, memory_order_relaxed);
	}
	*ret_counters = counters;
}

void gs_stack_reset_locks(void)
{
	gs_table_reset_locks();
	if (self != NULL)
		atomic_store_explicit(&self->tid, gsb_os_tid(), memory_order_relaxed);
}
