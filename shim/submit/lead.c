/* See lead.h. Pieces of work are counted as shim/core/counter.h counts them for all threads, whoever does them. */
#include "shim/submit/lead.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/os.h"
#include "shim/core/counter.h"
#include "shim/submit/mark.h"
#include "shim/submit/put.h"

#define LEAD_MOST 768u	  /* the rest of what a stream takes is for what threads do themselves meanwhile */
#define MARK_EVERY 128u	  /* pieces of work */
#define FAR_EVERY 16u	  /* pieces of work that are not put off the devices are looked at again */
#define PIECE_BYTES 2048u /* of parameters take the place of one more piece */
#ifdef GSB_DEBUG
#define PATIENCE_NS 2000000000u /* a simulated device does one piece of work each time that it is asked */
#else
#define PATIENCE_NS 300000u /* a device that takes longer for what a mark covers is not kept waiting by launches one by one */
#endif

static struct {
	_Atomic bool made;
	uint64_t covers; /* so much is finished when it has passed */
} marks[GS_MARKS];
static unsigned next_made;		       /* of the queue's thread, which alone makes marks */
static unsigned next_passed;		       /* of whoever has `looking` */
static atomic_flag looking = ATOMIC_FLAG_INIT; /* one thread asks the driver about marks */
static _Atomic uint64_t finished;	       /* of all work that was begun, at least */
static _Atomic uint64_t asked;		       /* of that, what the last mark asked for covers */
static _Atomic uint64_t heavy;		       /* the places that parameters took */
static _Atomic bool far;		       /* too far ahead, and waiting did not help */
static _Atomic uint64_t far_looked;	       /* work that was begun when that was looked at last */
static uint64_t most = LEAD_MOST;	       /* constant once the queue has started */

/* The driver makes the queues of streams larger or smaller if it is told to. */
static uint64_t scaled(uint64_t count)
{
	const char *scale = getenv("CUDA_SCALE_LAUNCH_QUEUES");

	if (scale == NULL || strcmp(scale, "1x") == 0 || strcmp(scale, "2x") == 0 || strcmp(scale, "4x") == 0)
		return count;
	return strcmp(scale, "0.5x") == 0 ? count / 2 : count / 4;
}

bool gs_lead_start(void)
{
	most = scaled(LEAD_MOST);
	return gs_marks_possible();
}

void gs_lead_reset(void)
{
	atomic_flag_clear(&looking);
	gs_marks_reset();
}

static uint64_t pieces(bool ended)
{
	return gs_counter_pieces(ended) + atomic_load_explicit(&heavy, memory_order_relaxed);
}

static uint64_t lead(void)
{
	return pieces(false) - atomic_load_explicit(&finished, memory_order_relaxed);
}

/* --- marks --------------------------------------------------------------------------------------------------------- */

void gs_lead_mark(uint64_t covers, uint32_t held)
{
	unsigned mark = next_made % GS_MARKS;

	if (atomic_load_explicit(&marks[mark].made, memory_order_acquire) || !gs_mark_make(mark))
		return;
	marks[mark].covers = covers - held;
	atomic_store_explicit(&marks[mark].made, true, memory_order_release);
	next_made++;
}

static void look_at_marks(void)
{
	if (atomic_flag_test_and_set_explicit(&looking, memory_order_acquire))
		return;
	for (;;) {
		unsigned mark = next_passed % GS_MARKS;

		if (!atomic_load_explicit(&marks[mark].made, memory_order_acquire) || !gs_mark_passed(mark))
			break;
		atomic_store_explicit(&finished, marks[mark].covers, memory_order_relaxed);
		atomic_store_explicit(&marks[mark].made, false, memory_order_release);
		next_passed++;
	}
	atomic_flag_clear_explicit(&looking, memory_order_release);
}

/* --- those who put ------------------------------------------------------------------------------------------------- */

static void ask_for_mark(void)
{
	uint64_t last = atomic_load_explicit(&asked, memory_order_relaxed), ended = pieces(true);

	gs_marks_stock();
	if (ended - last >= most / (LEAD_MOST / MARK_EVERY) && atomic_compare_exchange_strong(&asked, &last, ended))
		gs_put_mark(ended);
}

/* Who knows that he will put more says so: what is held for a graph is held on. */
static bool await_devices(void)
{
	uint64_t start_ns = gsb_os_now_ns();
	bool near = false;

	gs_put_pause(true);
	while (!near && gsb_os_now_ns() - start_ns < PATIENCE_NS) {
		gsb_os_nap();
		look_at_marks();
		near = lead() <= most;
	}
	gs_put_pause(false);
	return near;
}

/* Whether there is room now, after a look at the devices. */
static bool look(void)
{
	bool near;

	ask_for_mark();
	if (lead() > most / 2)
		look_at_marks();
	near = lead() <= most;
	if (!near && !atomic_load_explicit(&far, memory_order_relaxed))
		near = await_devices();
	atomic_store_explicit(&far, !near, memory_order_relaxed);
	return near;
}

bool gs_lead_may_put(size_t bytes)
{
	uint64_t begun;

	if (__builtin_expect(bytes >= PIECE_BYTES, 0))
		atomic_fetch_add_explicit(&heavy, bytes / PIECE_BYTES, memory_order_relaxed);
	begun = pieces(false);
	if (__builtin_expect(atomic_load_explicit(&far, memory_order_relaxed), 0)) {
		if (begun - atomic_load_explicit(&far_looked, memory_order_relaxed) < FAR_EVERY)
			return false;
		atomic_store_explicit(&far_looked, begun, memory_order_relaxed);
		return look();
	}
	if (begun - atomic_load_explicit(&finished, memory_order_relaxed) <= most &&
	    begun - atomic_load_explicit(&asked, memory_order_relaxed) < MARK_EVERY)
		return true;
	return look();
}
