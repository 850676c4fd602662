/* See wait.h. Rows are found by their key in a table that never forgets; the figures of a row are added up without a lock. */
#include "shim/watch/wait.h"

#include <stdatomic.h>

#include "report/schema.h"
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/core/order.h"
#include "shim/core/sum.h"
#include "shim/stack/stack.h"
#include "shim/stack/table.h"
#include "shim/watch/gap.h"
#include "shim/watch/launch.h"
#include "shim/watch/note.h"
#include "shim/watch/proven.h"

#define ROW_LIMIT  8192u /* from then on rows are made without a stack only, */
#define ROWS_APART 1024u /* of which there are so many at most: one for a function, a way of copying and a kind of memory */

/* Polls that follow each other within this time are one wait, and a wait from this many on. */
#define POLL_GAP_TICKS (1u << 16)
#define POLL_LEAST     16u

struct row_key {
	uint32_t stack;
	uint16_t fn;
	uint8_t way, memory;
};

struct gs_wait_row {
	struct row_key key; /* comes first: rows are looked for by it */
	uint32_t name;
	uint32_t owner; /* of the sums: the thread that came here first */
	struct gs_sum calls[2], ticks[2], size_bytes[2]; /* 1: of calls that found nothing to wait for */
	struct gs_sum apart, drained, followed;
	_Atomic uint64_t first_launch, last_launch, seen_launches, longest_ticks, idle_ticks, timed;
	_Atomic uint64_t octave;		      /* launches when it began; 0: octaves are not asked for here */
	_Atomic uint64_t octave_first, octave_before; /* calls when it began, and calls in the one before */
};

_Atomic uint64_t gs_wait_launches;

static struct gs_table rows = GS_TABLE_INIT(struct gs_wait_row, ROW_LIMIT + ROWS_APART);

/* --- rows --- */

static bool row_same(const void *item, const void *key)
{
	const struct row_key *a = item, *b = key;

	return a->stack == b->stack && a->fn == b->fn && a->way == b->way && a->memory == b->memory;
}

static bool row_make(const struct row_key *key, uint32_t hash, uint32_t *ret_number)
{
	struct gs_wait_row row = {
		.key = *key,
		.name = gs_string_intern(gs_fn_info[key->fn].symbol),
		.owner = gs_thread_serial(),
	};

	if (key->stack != 0 && gs_table_count(&rows) >= ROW_LIMIT)
		return false;
	return gs_table_intern(&rows, hash, row_same, &row, ret_number) == GS_OK;
}

/* newest: where the thread waited last; NULL: nowhere. */
static struct gs_wait_row *row_of(struct gs_wait_row *newest, enum gs_fn fn, const struct gs_wait_call *what, uint32_t stack)
{
	const struct row_key key = {.stack = stack, .fn = (uint16_t)fn, .way = what->way, .memory = what->memory};
	uint32_t hash, number;

	if (newest != NULL && row_same(newest, &key))
		return newest;
	hash = gs_hash(stack, (uint64_t)fn << 16 | (uint64_t)what->way << 8 | what->memory);
	if (!gs_table_find(&rows, hash, row_same, &key, &number) && !row_make(&key, hash, &number))
		return NULL;
	return (struct gs_wait_row *)gs_table_at(&rows, number);
}

static uint64_t calls_of(const struct gs_wait_row *row)
{
	return gs_sum_read(&row->calls[0]) + gs_sum_read(&row->calls[1]);
}

/* Threads may disagree on what comes first. */
static uint64_t beyond(uint64_t calls, uint64_t first)
{
	return calls > first ? calls - first : 0;
}

/* An octave begins with the first call that finds twice the launches of the one before. */
static void row_add_octave(struct gs_wait_row *row, uint64_t launches, uint64_t calls)
{
	uint64_t octave = atomic_load_explicit(&row->octave, memory_order_relaxed);
	uint64_t first = atomic_load_explicit(&row->octave_first, memory_order_relaxed);

	if (launches < 2 * octave)
		return;
	atomic_store_explicit(&row->octave_before, launches < 4 * octave ? beyond(calls, first) : 0, memory_order_relaxed);
	atomic_store_explicit(&row->octave_first, calls, memory_order_relaxed);
	atomic_store_explicit(&row->octave, launches + 1, memory_order_relaxed);
}

/* Whether the place is part of what the program does again and again shows by the launches in between: the thread's own, or
 * all threads' where it launches nothing itself. */
static void row_add_launches(struct gs_wait_row *row)
{
	uint64_t of_thread = gs_thread.launches;
	uint64_t all = atomic_load_explicit(&gs_wait_launches, memory_order_relaxed) + of_thread % GS_WAIT_LAUNCHES_APART;
	uint64_t mine = of_thread != 0 ? of_thread : all;
	uint64_t calls = calls_of(row);

	if (calls == 0)
		atomic_store_explicit(&row->first_launch, all, memory_order_relaxed);
	else if (atomic_load_explicit(&row->seen_launches, memory_order_relaxed) != mine)
		gs_sum_add(&row->apart, row->owner, 1);
	atomic_store_explicit(&row->seen_launches, mine, memory_order_relaxed);
	atomic_store_explicit(&row->last_launch, all, memory_order_relaxed);
	if (gs_fn_info[row->key.fn].call_class == GS_CLASS_MODULE || gs_fn_info[row->key.fn].call_class == GS_CLASS_SYNC)
		row_add_octave(row, all, calls);
}

/* Of the call's place, which it comes to now; NULL: there is no room. */
static struct gs_wait_row *row_come(enum gs_fn fn, const struct gs_wait_call *what)
{
	struct gs_wait_row *newest = gs_counter_block_own()->waited, *row = row_of(newest, fn, what, what->stack);

	if (row == NULL && what->stack != 0)
		row = row_of(newest, fn, what, 0);
	if (row != NULL)
		row_add_launches(row);
	return row;
}

static void row_add(struct gs_wait_row *row, const struct gs_wait_call *what, uint64_t ticks)
{
	uint64_t longest;

	gs_sum_add(&row->calls[what->clear], row->owner, 1);
	gs_sum_add(&row->ticks[what->clear], row->owner, ticks);
	if (what->size_bytes != 0)
		gs_sum_add(&row->size_bytes[what->clear], row->owner, what->size_bytes);
	longest = atomic_load_explicit(&row->longest_ticks, memory_order_relaxed);
	while (ticks > longest &&
	       !atomic_compare_exchange_weak_explicit(&row->longest_ticks, &longest, ticks, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* The host has waited for something in the context, until then. */
static void row_waited(struct gs_wait_row *row, uint32_t context, uint64_t end_ticks)
{
	if (context == 0 || gs_proven_context_pending(context))
		return;
	gs_sum_add(&row->drained, row->owner, 1);
	gs_gap_begin(context, end_ticks, &row->idle_ticks);
}

/* In this octave and the one before. */
static uint64_t late_of(const struct gs_wait_row *row, uint64_t calls)
{
	uint64_t first = atomic_load_explicit(&row->octave_first, memory_order_relaxed);
	uint64_t late = atomic_load_explicit(&row->octave_before, memory_order_relaxed) + beyond(calls, first);

	if (atomic_load_explicit(&row->octave, memory_order_relaxed) == 0)
		return 0;
	return late < calls ? late : calls;
}

size_t gs_wait_count(void)
{
	return gs_table_count(&rows);
}

void gs_wait_read(size_t index, struct gs_wait *ret_wait)
{
	const struct gs_wait_row *row = gs_table_at(&rows, (uint32_t)index);
	uint64_t calls[2], ticks[2], size_bytes[2];

	for (unsigned clear = 0; clear < 2; clear++) {
		calls[clear] = gs_sum_read(&row->calls[clear]);
		ticks[clear] = gs_sum_read(&row->ticks[clear]);
		size_bytes[clear] = gs_sum_read(&row->size_bytes[clear]);
	}
	*ret_wait = (struct gs_wait){
		.name = row->name,
		.call_class = gs_fn_info[row->key.fn].call_class,
		.stack = row->key.stack,
		.way = row->key.way,
		.memory = row->key.memory,
		.calls = calls[0] + calls[1],
		.apart = gs_sum_read(&row->apart),
		.first_launch = atomic_load_explicit(&row->first_launch, memory_order_relaxed),
		.last_launch = atomic_load_explicit(&row->last_launch, memory_order_relaxed),
		.host_ns = gs_ticks_to_ns(ticks[0] + ticks[1]),
		.longest_ns = gs_ticks_to_ns(atomic_load_explicit(&row->longest_ticks, memory_order_relaxed)),
		.size_bytes = size_bytes[0] + size_bytes[1],
		.clear = calls[1],
		.clear_ns = gs_ticks_to_ns(ticks[1]),
		.clear_bytes = size_bytes[1],
		.drained = gs_sum_read(&row->drained),
		.followed = gs_sum_read(&row->followed),
		.timed = atomic_load_explicit(&row->timed, memory_order_relaxed),
		.late = late_of(row, calls[0] + calls[1]),
		.idle_ns = gs_ticks_to_ns(atomic_load_explicit(&row->idle_ticks, memory_order_relaxed)),
	};
}

bool gs_wait_dearest(uint64_t elapsed_ns, struct gs_wait *ret_wait)
{
	bool found = false;

	for (size_t index = 0; index < gs_wait_count(); index++) {
		struct gs_wait wait;

		gs_wait_read(index, &wait);
		if (wait.call_class == GS_CLASS_SYNC)
			wait.host_ns -= wait.clear_ns < wait.host_ns ? wait.clear_ns : wait.host_ns;
		if (wait.stack == 0 || wait.apart < GS_SNAP_LOOP_CALLS || wait.host_ns < elapsed_ns / 100 ||
		    wait.followed > wait.calls - wait.calls / 10 ||
		    (found && wait.host_ns <= ret_wait->host_ns))
			continue;
		*ret_wait = wait;
		found = true;
	}
	return found;
}

/* --- host memory ---
 *
 * The driver is asked once for a page, and again after memory was pinned or unpinned somewhere: for pageable memory the
 * question costs half a microsecond. A word holds page, generation and answer. */

#define MEMO_WORDS	64u
#define MEMO_KIND_BITS	3u
#define MEMO_PAGE_BITS	36u
#define MEMO_DEVICE	GS_HOST_MEMORY_COUNT /* an answer too: the address is on a device */
_Static_assert(MEMO_DEVICE < 1u << MEMO_KIND_BITS, "an answer fits its bits");

static _Atomic uint64_t memo[MEMO_WORDS];
static _Atomic uint64_t memo_generation = 1;

void gs_wait_memory_changed(void)
{
	atomic_fetch_add_explicit(&memo_generation, 1, memory_order_release);
}

static unsigned memory_ask(const void *address)
{
	CUmemorytype type = 0;
	unsigned managed = 0;
	CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
	void *answers[] = {&type, &managed};

	if (gs_driver.cuPointerGetAttributes == NULL ||
	    gs_driver.cuPointerGetAttributes(2, attributes, answers, (CUdeviceptr)(uintptr_t)address) != CUDA_SUCCESS)
		return GS_HOST_MEMORY_NONE;
	if (managed != 0)
		return GS_HOST_MEMORY_MANAGED;
	return type == 0 ? GS_HOST_MEMORY_PAGEABLE : type == CU_MEMORYTYPE_HOST ? GS_HOST_MEMORY_PINNED : MEMO_DEVICE;
}

static unsigned memory_of(const void *address)
{
	uint64_t page = (uint64_t)(uintptr_t)address >> 12 & ((1ull << MEMO_PAGE_BITS) - 1);
	uint64_t generation = atomic_load_explicit(&memo_generation, memory_order_acquire);
	uint64_t key = (generation << MEMO_PAGE_BITS | page) << MEMO_KIND_BITS;
	_Atomic uint64_t *word = &memo[page % MEMO_WORDS];
	uint64_t known = atomic_load_explicit(word, memory_order_relaxed);
	unsigned kind;

	if (known >> MEMO_KIND_BITS == key >> MEMO_KIND_BITS)
		return known & ((1u << MEMO_KIND_BITS) - 1);
	kind = memory_ask(address);
	atomic_store_explicit(word, key | kind, memory_order_relaxed);
	return kind;
}

static bool end_at_device(enum gs_copy_end end, const void *address, unsigned *ret_memory)
{
	if (end == GS_COPY_AT_DEVICE)
		return true;
	*ret_memory = memory_of(address);
	return *ret_memory == MEMO_DEVICE;
}

/* --- calls --- */

static void stack_take(struct gs_call *call)
{
	call->wait.stack = gs_note_stack(call);
	call->wait.stacked = true;
	call->start_ticks = gs_ticks();
}

void gs_wait_expect(struct gs_call *call)
{
	call->wait.stack = gs_note_stack(call);
	call->wait.stacked = true;
	call->wait.row = row_come(call->fn, &call->wait);
	call->start_ticks = gs_ticks();
}

void gs_wait_for_context(struct gs_call *call, uint32_t context)
{
	if (call->start_ticks == 0)
		return;
	call->wait.context = context;
	call->wait.waits = context != 0;
	call->wait.clear = context != 0 && !gs_proven_context_pending(context);
}

void gs_wait_for_event(struct gs_call *call, CUevent event)
{
	if (call->start_ticks == 0)
		return;
	call->wait.clear = !gs_proven_event_pending(event, &call->wait.context, &call->wait.followed);
	call->wait.waits = call->wait.context != 0;
}

void gs_wait_for_stream(struct gs_call *call, const struct gs_work_stream *stream)
{
	if (call->start_ticks == 0)
		return;
	call->wait.context = stream->context;
	call->wait.waits = stream->context != 0;
	call->wait.clear = !gs_proven_stream_pending(stream);
}

void gs_wait_copies(struct gs_call *call, const struct gs_copy *copy, CUstream stream)
{
	unsigned to_memory = GS_HOST_MEMORY_NONE, from_memory = GS_HOST_MEMORY_NONE;
	struct gs_work_stream work;
	bool to_device, from_device;

	if (copy->size_bytes == 0)
		return;
	call->wait.size_bytes = copy->size_bytes;
	to_device = end_at_device(copy->to_end, copy->to, &to_memory);
	from_device = end_at_device(copy->from_end, copy->from, &from_memory);
	call->wait.way = to_device ? (from_device ? GS_COPY_ON_DEVICE : GS_COPY_TO_DEVICE)
				   : (from_device ? GS_COPY_TO_HOST : GS_COPY_ON_HOST);
	call->wait.memory = (uint8_t)(!to_device ? to_memory : !from_device ? from_memory : GS_HOST_MEMORY_NONE);
	if (gs_fn_info[call->fn].call_class == GS_CLASS_COPY || call->wait.memory == GS_HOST_MEMORY_PAGEABLE) {
		if (gs_launch_stream(call, stream, &work))
			gs_wait_for_stream(call, &work);
		stack_take(call);
	} else {
		call->start_ticks = gs_ticks();
	}
}

/* What it was for the step: a wait, a full queue, memory, code. */
static void figures_add(enum gs_call_class call_class, const struct gs_wait_call *what, uint64_t ticks)
{
	bool is_long = ticks >= GS_WAIT_SHORT_TICKS;

	if (what->size_bytes != 0 && what->way == GS_COPY_TO_DEVICE)
		gs_figure_add(GS_FIGURE_TO_DEVICE, what->size_bytes);
	else if (what->size_bytes != 0 && what->way == GS_COPY_TO_HOST)
		gs_figure_add(GS_FIGURE_TO_HOST, what->size_bytes);
	if (call_class == GS_CLASS_SYNC || call_class == GS_CLASS_COPY || call_class == GS_CLASS_POLL ||
	    (is_long && (call_class == GS_CLASS_SET ||
			 (call_class == GS_CLASS_COPY_ASYNC && what->memory == GS_HOST_MEMORY_PAGEABLE)))) {
		gs_figure_add(GS_FIGURE_WAITS, 1);
		gs_figure_add(GS_FIGURE_WAIT, ticks);
	} else if (is_long && (call_class == GS_CLASS_LAUNCH || call_class == GS_CLASS_GRAPH_LAUNCH ||
			       call_class == GS_CLASS_COPY_ASYNC)) {
		gs_figure_add(GS_FIGURE_QUEUE, ticks);
	} else if (is_long && call_class == GS_CLASS_MODULE) {
		gs_figure_add(GS_FIGURE_LOADS, 1);
		gs_figure_add(GS_FIGURE_LOAD, ticks);
	} else if (is_long && (call_class == GS_CLASS_ALLOC || call_class == GS_CLASS_FREE ||
			       call_class == GS_CLASS_HOST_ALLOC || call_class == GS_CLASS_HOST_FREE)) {
		gs_figure_add(GS_FIGURE_MEMORY_CALLS, 1);
		gs_figure_add(GS_FIGURE_MEMORY, ticks);
	}
}

void gs_wait_ended(struct gs_call *call, CUresult result, uint64_t ticks)
{
	enum gs_call_class call_class = gs_fn_info[call->fn].call_class;
	struct gs_wait_row *row = call->wait.row;

	if (!call->wait.stacked && ticks >= GS_WAIT_SHORT_TICKS && !call->wait.cached)
		call->wait.stack = gs_note_stack(call);
	if (row == NULL)
		row = row_come(call->fn, &call->wait);
	if (call_class == GS_CLASS_SYNC)
		gs_counter_block_own()->waited = row;
	if (row != NULL)
		row_add(row, &call->wait, ticks);
	if (row != NULL && call->wait.waits && !call->wait.clear && result == CUDA_SUCCESS) {
		row_waited(row, call->wait.context, call->start_ticks + ticks);
		if (call->wait.followed)
			gs_sum_add(&row->followed, row->owner, 1);
	}
	figures_add(call_class, &call->wait, ticks);
}

void gs_wait_timed(void)
{
	struct gs_counter_block *block = gs_counter_block_own();
	struct gs_wait_row *row = block->waited;

	if (row == NULL)
		return;
	block->waited = NULL;
	atomic_fetch_add_explicit(&row->timed, 1, memory_order_relaxed);
}

void gs_wait_polled(struct gs_call *call, bool done)
{
	uint64_t now = gs_ticks();
	struct gs_polls *polls = &gs_thread.polls;
	struct gs_wait_row *row;

	if (polls->count == 0 || now - polls->last_ticks > POLL_GAP_TICKS) {
		polls->count = 0;
		polls->first_ticks = now;
	}
	polls->last_ticks = now;
	polls->count++;
	if (!done)
		return;
	if (polls->count >= POLL_LEAST) {
		call->wait = (struct gs_wait_call){0};
		call->wait.stack = gs_note_stack(call);
		row = row_come(call->fn, &call->wait);
		if (row != NULL)
			row_add(row, &call->wait, now - polls->first_ticks);
		figures_add(GS_CLASS_POLL, &call->wait, now - polls->first_ticks);
	}
	polls->count = 0;
}
