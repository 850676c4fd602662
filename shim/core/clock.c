/* See clock.h. */
#include "shim/core/clock.h"

#include <cpuid.h>
#include <stdbool.h>

#include "shim/base/hot.h"
#include "shim/base/os.h"

#define FIRST_NS 10000000u /* before the first line */
#define READ_TICKS 4000u   /* both clocks are read within this, or somebody has come in between */

#define INVARIANT_LEAF 0x80000007u
#define INVARIANT_BIT 8u

GSB_HOT struct gs_clock_line gs_clock_line;

static bool even; /* the counter runs evenly, on all processors alike; fixed at init, as are the next two */
static uint64_t start_ticks, start_ns;
static atomic_flag drawing = ATOMIC_FLAG_INIT;

static bool counter_is_even(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(INVARIANT_LEAF, &a, &b, &c, &d) != 0 && (d >> INVARIANT_BIT & 1) != 0;
}

void gs_clock_init(void)
{
	even = counter_is_even();
	start_ticks = gs_ticks();
	start_ns = gsb_os_now_ns();
}

uint64_t gs_clock_start_ns(void)
{
	return start_ns;
}

uint64_t gs_ticks_to_ns(uint64_t ticks)
{
	uint64_t passed_ticks = gs_ticks() - start_ticks;
	uint64_t passed_ns = gsb_os_now_ns() - start_ns;

	return passed_ticks == 0 ? 0 : (uint64_t)((double)ticks * (double)passed_ns / (double)passed_ticks);
}

uint64_t gs_ticks_time_ns(uint64_t ticks)
{
	return ticks < start_ticks ? start_ns : start_ns + gs_ticks_to_ns(ticks - start_ticks);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* Through the start and now; not below the old one. */
static void draw(uint64_t ticks, uint64_t ns)
{
	struct gs_clock_line *line = &gs_clock_line;
	uint64_t sequence = atomic_load_explicit(&line->sequence, memory_order_relaxed);
	uint64_t from = atomic_load_explicit(&line->ticks, memory_order_relaxed);
	uint64_t rate = atomic_load_explicit(&line->rate, memory_order_relaxed);
	uint64_t old_ns = atomic_load_explicit(&line->ns, memory_order_relaxed);

	old_ns += (uint64_t)((unsigned __int128)(ticks - from) * rate >> 32);
	atomic_store_explicit(&line->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	set(&line->ticks, ticks);
	set(&line->ns, rate != 0 && old_ns > ns ? old_ns : ns);
	set(&line->rate, (uint64_t)(((unsigned __int128)(ns - start_ns) << 32) / (ticks - start_ticks)));
	set(&line->due_ticks, start_ticks + 2 * (ticks - start_ticks));
	atomic_store_explicit(&line->sequence, sequence + 2, memory_order_release);
}

uint64_t gs_clock_look(void)
{
	uint64_t before = gs_ticks(), ns = gsb_os_now_ns(), after = gs_ticks();
	uint64_t ticks = before + (after - before) / 2;

	if (!even || ns - start_ns < FIRST_NS || ticks <= start_ticks ||
	    atomic_flag_test_and_set_explicit(&drawing, memory_order_acquire))
		return ns;
	/* Another thread may have drawn it meanwhile. */
	if (after - before < READ_TICKS &&
	    ticks >= atomic_load_explicit(&gs_clock_line.due_ticks, memory_order_relaxed))
		draw(ticks, ns);
	atomic_flag_clear_explicit(&drawing, memory_order_release);
	return ns;
}
