/* See lead.h. Pieces of work are counted as shim/core/counter.h counts them for all threads, whoever does them; each thread looks at
 * the sum once for so many of its own. */
#include "shim/submit/lead.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/os.h"
#include "shim/core/counter.h"
#include "shim/core/fences.h"
#include "shim/submit/put.h"

#define LEAD_MOST 768u	 /* between the capacity of a stream and this lies what other threads put between two looks */
#define LOOK_EVERY 32u	 /* pieces of work of a thread */
#define MARK_EVERY 128u	 /* of all */
#define MARKS 16u	 /* that may be open at a time; a power of two */
#define PIECE_BYTES 2048u /* of parameters take the place of one more piece */
#ifdef GSB_DEBUG
#define PATIENCE_NS 100000000u /* a simulated device does one piece of work each time that it is asked */
#else
#define PATIENCE_NS 300000u /* a device that takes longer for what a mark covers is not kept waiting by launches one by one */
#endif

struct mark {
	_Atomic uint64_t fence; /* 0 = the place is free */
	uint64_t covers;	/* so much is finished when it has passed */
};

static struct mark marks[MARKS];
static uint64_t marks_made;		   /* by the queue's thread, which alone records them */
static uint64_t marks_passed;		   /* of these; by whoever has `looking` */
static atomic_flag looking = ATOMIC_FLAG_INIT; /* one thread asks the driver about marks */
static _Atomic uint64_t finished;	   /* of all work that was begun, at least */
static _Atomic uint64_t asked;		   /* of that, what the last mark asked for covers */
static _Atomic uint64_t heavy;		   /* the places that parameters took */
static _Atomic bool far;		   /* too far ahead, and waiting did not help */
static uint64_t most = LEAD_MOST;	   /* constant once the queue has started */

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
	gs_fences_init();
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent != NULL;
#else
	return false;
#endif
}

void gs_lead_reset(void)
{
	atomic_flag_clear(&looking);
}

/* --- marks --------------------------------------------------------------------------------------------------------- */

void gs_lead_mark(uint64_t covers, uint32_t held)
{
	struct mark *mark = &marks[marks_made % MARKS];
	uint64_t fence;

	if (atomic_load_explicit(&mark->fence, memory_order_acquire) != 0 || gs_fence_all(NULL, &fence) != GS_OK)
		return;
	mark->covers = covers - held;
	atomic_store_explicit(&mark->fence, fence, memory_order_release);
	marks_made++;
}

/* A fence that fails tells no more: then the context is broken, and nothing is put off. */
static void look_at_marks(void)
{
	if (atomic_flag_test_and_set_explicit(&looking, memory_order_acquire))
		return;
	for (;;) {
		struct mark *mark = &marks[marks_passed % MARKS];
		uint64_t fence = atomic_load_explicit(&mark->fence, memory_order_acquire);

		if (fence == 0 || gs_fence_poll(NULL, fence) == 0)
			break;
		gs_fence_drop(NULL, fence);
		atomic_store_explicit(&finished, mark->covers, memory_order_relaxed);
		atomic_store_explicit(&mark->fence, 0, memory_order_release);
		marks_passed++;
	}
	atomic_flag_clear_explicit(&looking, memory_order_release);
}

/* --- those who put ------------------------------------------------------------------------------------------------- */

/* False: it is not known. */
static bool lead_of(uint64_t *ret_lead)
{
	uint64_t begun;

	if (!gs_counter_work(false, &begun))
		return false;
	*ret_lead = begun + atomic_load_explicit(&heavy, memory_order_relaxed) -
		    atomic_load_explicit(&finished, memory_order_relaxed);
	return true;
}

static void ask_for_mark(void)
{
	uint64_t last = atomic_load_explicit(&asked, memory_order_relaxed), ended;

	if (!gs_counter_work(true, &ended))
		return;
	ended += atomic_load_explicit(&heavy, memory_order_relaxed);
	if (ended - last >= most / (LEAD_MOST / MARK_EVERY) && atomic_compare_exchange_strong(&asked, &last, ended))
		gs_put_mark(ended);
}

/* Who knows that he will put more says so: what is held for a graph is held on. */
static bool await_devices(void)
{
	uint64_t start_ns = gsb_os_now_ns(), lead;
	bool near = false;

	gs_put_pause(true);
	while (!near && gsb_os_now_ns() - start_ns < PATIENCE_NS) {
		gsb_os_nap();
		look_at_marks();
		if (!lead_of(&lead))
			break;
		near = lead <= most;
	}
	gs_put_pause(false);
	return near;
}

static bool look(void)
{
	uint64_t lead;
	bool near;

	ask_for_mark();
	if (!lead_of(&lead))
		return false;
	if (lead > most / 2)
		look_at_marks();
	near = lead_of(&lead) && lead <= most;
	if (!near && !atomic_load_explicit(&far, memory_order_relaxed))
		near = await_devices();
	atomic_store_explicit(&far, !near, memory_order_relaxed);
	return near;
}

bool gs_lead_may_put(size_t bytes)
{
	struct gs_counter_block *block = gs_counter_block_own();
	uint64_t own = atomic_load_explicit(&block->work_begun, memory_order_relaxed);

	if (__builtin_expect(bytes >= PIECE_BYTES, 0)) {
		atomic_fetch_add_explicit(&heavy, bytes / PIECE_BYTES, memory_order_relaxed);
		block->looked -= bytes / PIECE_BYTES;
	}
	if (own - block->looked < LOOK_EVERY)
		return !atomic_load_explicit(&far, memory_order_relaxed);
	block->looked = own;
	return look();
}
