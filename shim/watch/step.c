/* See step.h. A loop is known by the kernel and the place that begin its steps. Times are ticks until they are read. */
#include "shim/watch/step.h"

#include <string.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/core/counter.h"
#include "shim/stack/stack.h"

/* A histogram: so many buckets for each doubling, from 2^10 ticks on. */
#define BUCKETS_PER_OCTAVE 16u
#define LEAST_OCTAVE	   10u
#define BUCKETS		   ((48u - LEAST_OCTAVE) * BUCKETS_PER_OCTAVE)

/* A leader that ends no step for so many of its steps, and half a second at least, may be followed by another thread. */
#define SILENCE	      8u
#define SILENCE_TICKS (1ull << 31)

struct step {
	uint64_t number, begin, wall; /* number 0: none */
	uint32_t loop;
	uint64_t figures[GS_FIGURE_COUNT];
};

struct loop {
	enum gs_loop_kind kind;
	uint32_t name, stack, thread;
	uint64_t steps, wall;
	uint64_t figures[GS_FIGURE_COUNT];
	uint32_t histogram[BUCKETS];
	struct step longest[GS_STEP_LONGEST];
	uint32_t shortest; /* of these: where it is */
};

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
static struct loop loops[GS_STEP_LOOPS];
static _Atomic uint32_t loop_count;
static struct step ring[GS_STEPS_KEPT];
static uint64_t ring_end;
static struct loop *current; /* NULL: no step has begun */
static uint64_t begin;
static uint64_t before[GS_FIGURE_COUNT]; /* sums, when it began */
static uint64_t last_wall;

static _Atomic uint32_t leader; /* thread id; 0 = none */
static _Atomic uint64_t leader_due; /* ticks; from then on the leader counts as silent */

GSB_HOT _Atomic bool gs_steps_marked;

static const bool is_ticks[] = {
#define COUNT 0
#define BYTES 0
#define NS    0
#define TICKS 1
#define FIGURE_IS_TICKS(name, unit, text) unit,
	GS_FIGURES(FIGURE_IS_TICKS)
#undef FIGURE_IS_TICKS
#undef COUNT
#undef BYTES
#undef NS
#undef TICKS
};

/* --- times ------------------------------------------------------------------------------------------------------- */

static uint32_t bucket_of(uint64_t ticks)
{
	unsigned octave = ticks < 1ull << LEAST_OCTAVE ? LEAST_OCTAVE : 63u - (unsigned)__builtin_clzll(ticks);
	uint64_t part = ticks < 1ull << LEAST_OCTAVE ? 0 : (ticks >> (octave - 4)) & (BUCKETS_PER_OCTAVE - 1);
	uint32_t bucket = (octave - LEAST_OCTAVE) * BUCKETS_PER_OCTAVE + (uint32_t)part;

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}
_Static_assert(BUCKETS_PER_OCTAVE == 1u << 4, "the bits behind the first tell the bucket");

static uint64_t bucket_middle(uint32_t bucket)
{
	uint64_t least = 1ull << (bucket / BUCKETS_PER_OCTAVE + LEAST_OCTAVE);

	return least + least * (2 * (bucket % BUCKETS_PER_OCTAVE) + 1) / (2 * BUCKETS_PER_OCTAVE);
}

/* The time that share/100 of the steps took at most. */
static uint64_t quantile(const struct loop *loop, unsigned share)
{
	uint64_t wanted = (loop->steps * share + 99) / 100, seen = 0;

	gsb_debug_assert(gsb_lock_held(&lock));
	for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
		seen += loop->histogram[bucket];
		if (seen >= wanted)
			return bucket_middle(bucket);
	}
	return 0;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

/* A step may be a single launch: its end should cost little beside that. */
#define EACH_FIGURE(i) _Pragma("GCC unroll 16") for (unsigned i = 0; i < GS_FIGURE_COUNT; i++)
_Static_assert(GS_FIGURE_COUNT <= 16, "no loop is left");

void gs_figures_sum(uint64_t sums[GS_FIGURE_COUNT])
{
	memset(sums, 0, GS_FIGURE_COUNT * sizeof(sums[0]));
	for (const struct gs_counter_block *block = gs_counter_blocks(); block != NULL; block = block->next)
		EACH_FIGURE(i)
			sums[i] += atomic_load_explicit(&block->figures[i], memory_order_relaxed);
}

static void longest_keep(struct loop *loop, const struct step *step)
{
	if (step->wall <= loop->longest[loop->shortest].wall)
		return;
	loop->longest[loop->shortest] = *step;
	for (unsigned i = 0; i < GS_STEP_LONGEST; i++)
		if (loop->longest[i].wall < loop->longest[loop->shortest].wall)
			loop->shortest = i;
}

/* Under the lock. */
static void step_end(uint64_t ticks, const uint64_t sums[GS_FIGURE_COUNT])
{
	struct step *step = &ring[ring_end++ % GS_STEPS_KEPT];

	step->loop = (uint32_t)(current - loops);
	step->number = ++current->steps;
	step->begin = begin;
	step->wall = ticks - begin;
	EACH_FIGURE(i) {
		step->figures[i] = sums[i] - before[i];
		current->figures[i] += step->figures[i];
	}
	current->wall += step->wall;
	current->histogram[bucket_of(step->wall)]++;
	longest_keep(current, step);
	last_wall = step->wall;
}

static void step_begin(struct loop *loop, uint64_t ticks, const uint64_t sums[GS_FIGURE_COUNT])
{
	gsb_debug_assert(gsb_lock_held(&lock));
	current = loop;
	begin = ticks;
	memcpy(before, sums, sizeof(before));
	atomic_store_explicit(&leader_due, ticks + SILENCE * last_wall + SILENCE_TICKS, memory_order_relaxed);
}

/* --- loops ------------------------------------------------------------------------------------------------------- */

static void loop_forget(struct loop *loop)
{
	for (unsigned i = 0; i < GS_STEPS_KEPT; i++)
		if (ring[i].loop == (uint32_t)(loop - loops))
			ring[i].number = 0;
	memset(loop, 0, sizeof(*loop));
}

/* Under the lock. make: where there is none; loops inside of others, and those that came to nothing, make room. NULL: there
 * is none, or no room. */
static struct loop *loop_of(enum gs_loop_kind kind, uint32_t name, uint32_t stack, bool make)
{
	uint32_t count = atomic_load_explicit(&loop_count, memory_order_relaxed);
	struct loop *room = NULL;

	for (struct loop *loop = loops; loop < loops + count; loop++) {
		if (loop->name == name && loop->stack == stack && (loop->kind == GS_LOOP_MARKED) == (kind == GS_LOOP_MARKED))
			return loop;
		if (loop != current && loop->kind != GS_LOOP_MARKED &&
		    (loop->kind == GS_LOOP_INNER || loop->steps < GS_FINDER_ROUNDS) &&
		    (room == NULL || loop->steps < room->steps))
			room = loop;
	}
	if (!make || (count == GS_STEP_LOOPS && room == NULL))
		return NULL;
	if (count < GS_STEP_LOOPS) {
		room = &loops[count];
		atomic_store_explicit(&loop_count, count + 1, memory_order_release);
	} else {
		loop_forget(room);
	}
	room->kind = kind;
	room->name = name;
	room->stack = stack;
	room->thread = gs_thread_id();
	return room;
}

static void lead(uint32_t thread)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	if (current != NULL && thread == (uint32_t)getpid() && current->kind == GS_LOOP_FOUND)
		current->kind = GS_LOOP_INNER;
	current = NULL;
	atomic_store_explicit(&leader, thread, memory_order_relaxed);
}

/* Whether the calling thread leads, or does from now on. */
static bool leads(enum gs_found found, bool established, uint64_t ticks)
{
	uint32_t mine = gs_thread_id(), who = atomic_load_explicit(&leader, memory_order_relaxed);

	if (who == mine)
		return true;
	if (who != 0 && !(established && found == GS_FOUND_ROUND &&
			  (mine == (uint32_t)getpid() ||
			   ticks > atomic_load_explicit(&leader_due, memory_order_relaxed))))
		return false;
	gsb_lock_acquire(&lock);
	lead(mine);
	gsb_lock_release(&lock);
	return true;
}

void gs_step_found(enum gs_found found, uint32_t name, uint32_t stack, bool established, uint64_t ticks)
{
	uint64_t sums[GS_FIGURE_COUNT];
	struct loop *loop;

	if (!leads(found, established, ticks))
		return;
	gsb_lock_acquire(&lock);
	if (found == GS_FOUND_INNER) {
		loop = loop_of(GS_LOOP_FOUND, name, stack, false);
		if (loop != NULL)
			loop->kind = GS_LOOP_INNER;
		gsb_lock_release(&lock);
		return;
	}
	gs_figures_sum(sums);
	if (found == GS_FOUND_ROUND && current != NULL)
		step_end(ticks, sums);
	else if (found == GS_FOUND_OUTER && current != NULL)
		current->kind = GS_LOOP_INNER;
	loop = found == GS_FOUND_ROUND && current != NULL ? current : loop_of(GS_LOOP_FOUND, name, stack, true);
	if (loop != NULL && loop != current)
		loop->kind = GS_LOOP_FOUND;
	step_begin(loop, ticks, sums);
	gsb_lock_release(&lock);
}

void gs_step_mark(const void *caller)
{
	uint64_t sums[GS_FIGURE_COUNT], ticks = gs_ticks();
	bool first = !atomic_exchange(&gs_steps_marked, true);
	uint32_t stack = first ? gs_stack_capture(caller) : 0;

	gsb_lock_acquire(&lock);
	gs_figures_sum(sums);
	if (current != NULL && current->kind == GS_LOOP_MARKED) {
		step_end(ticks, sums);
		step_begin(current, ticks, sums);
	} else if (first) {
		step_begin(loop_of(GS_LOOP_MARKED, 0, stack, true), ticks, sums);
	}
	gsb_lock_release(&lock);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static uint64_t figure_read(unsigned figure, uint64_t value)
{
	return is_ticks[figure] ? gs_ticks_to_ns(value) : value;
}

size_t gs_loop_count(void)
{
	return atomic_load_explicit(&loop_count, memory_order_acquire);
}

void gs_loop_read(size_t index, struct gs_loop *ret_loop)
{
	const struct loop *loop = &loops[index];

	gsb_lock_acquire(&lock);
	*ret_loop = (struct gs_loop){
		.kind = loop->kind,
		.name = loop->name,
		.stack = loop->stack,
		.thread = loop->thread,
		.steps = loop->steps,
		.wall_ns = gs_ticks_to_ns(loop->wall),
		.median_ns = gs_ticks_to_ns(quantile(loop, 50)),
		.p99_ns = gs_ticks_to_ns(quantile(loop, 99)),
	};
	for (unsigned i = 0; i < GS_STEP_LONGEST; i++)
		if (gs_ticks_to_ns(loop->longest[i].wall) > ret_loop->longest_ns)
			ret_loop->longest_ns = gs_ticks_to_ns(loop->longest[i].wall);
	for (unsigned i = 0; i < GS_FIGURE_COUNT; i++)
		ret_loop->figures[i] = figure_read(i, loop->figures[i]);
	gsb_lock_release(&lock);
}

/* The host launches, and waits for little; the device could do more. */
static bool is_launch_bound(const struct gs_loop *loop)
{
	const uint64_t *figures = loop->figures;

	return loop->kind != GS_LOOP_INNER && figures[GS_FIGURE_DEVICE] != 0 &&
	       figures[GS_FIGURE_DEVICE] < loop->wall_ns / 100 * 85 &&
	       figures[GS_FIGURE_WAIT] < loop->wall_ns / 10 * 3 && figures[GS_FIGURE_QUEUE] < loop->wall_ns / 10 &&
	       figures[GS_FIGURE_LAUNCH] >= loop->wall_ns / 4;
}

bool gs_step_launch_bound(uint64_t elapsed_ns, struct gs_loop *ret_loop)
{
	bool found = false;

	for (size_t index = 0; index < gs_loop_count(); index++) {
		struct gs_loop loop;

		gs_loop_read(index, &loop);
		if (loop.steps < 5 || loop.wall_ns < elapsed_ns / 3 || !is_launch_bound(&loop) ||
		    (found && loop.wall_ns <= ret_loop->wall_ns))
			continue;
		*ret_loop = loop;
		found = true;
	}
	return found;
}

static void step_read(const struct step *step, struct gs_step *ret_step)
{
	*ret_step = (struct gs_step){
		.loop = step->loop,
		.number = step->number,
		.begin_ns = gs_ticks_time_ns(step->begin),
		.wall_ns = gs_ticks_to_ns(step->wall),
	};
	for (unsigned i = 0; i < GS_FIGURE_COUNT; i++)
		ret_step->figures[i] = figure_read(i, step->figures[i]);
}

static bool in_ring(const struct step *step, uint64_t first)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	for (uint64_t at = first; at < ring_end; at++)
		if (ring[at % GS_STEPS_KEPT].loop == step->loop && ring[at % GS_STEPS_KEPT].number != 0)
			return ring[at % GS_STEPS_KEPT].number <= step->number;
	return false;
}

static size_t step_add(const struct step *step, struct gs_step *steps, size_t capacity, size_t count)
{
	if (step->number == 0 || loops[step->loop].kind == GS_LOOP_INNER)
		return count;
	if (count < capacity)
		step_read(step, &steps[count]);
	return count + 1;
}

size_t gs_step_read(struct gs_step *steps, size_t capacity)
{
	uint64_t first;
	size_t count = 0;

	gsb_lock_acquire(&lock);
	first = ring_end > GS_STEPS_KEPT ? ring_end - GS_STEPS_KEPT : 0;
	for (unsigned index = 0; index < loop_count; index++)
		for (unsigned i = 0; i < GS_STEP_LONGEST; i++)
			if (!in_ring(&loops[index].longest[i], first))
				count = step_add(&loops[index].longest[i], steps, capacity, count);
	for (uint64_t at = first; at < ring_end; at++)
		count = step_add(&ring[at % GS_STEPS_KEPT], steps, capacity, count);
	gsb_lock_release(&lock);
	return count;
}

void gs_step_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
