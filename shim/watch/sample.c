/* See sample.h. A pair of events is free, taken by a thread that launches, or pending until the device has passed it. */
#include "shim/watch/sample.h"

#include <stddef.h>
#include <stdlib.h>

#include "shim/api/driver.h"
#include "shim/base/hot.h"
#include "shim/core/clock.h"
#include "shim/core/order.h"

#define PAIRS	    64u
#define LOOKS	    4u	      /* at pending pairs, for each sample */
#define FAILURES    16u	      /* of the driver; then it is left alone */
#define EMPTY_EVERY 64u	      /* samples with nothing between the events: what the events themselves take */
#define EMPTY_LATE  8u	      /* of which the mean is taken, roughly */
#define FIRST_TICKS (1u << 31) /* the start of the program is left alone; some 0.5 to 1 s */
#define PAUSE_LEAST (1u << 18) /* some 100 us */
#define COST_FIRST  (1u << 14) /* ticks, until it has been measured */
#define NEVER	    UINT64_MAX

/* What lies between the events of a pair besides the kernel, in shares of what lies between two with nothing in between. A
 * kernel in a queue adds the gap before it; where the device is idle the launch hides some of what the first event takes.
 * Measured on an H200 by tests/gpu/event_pairs.cu, for kernels of 13 and 31 us: 1.22 to 1.31, and 0.65 to 0.71. */
#define QUEUED_SHARE 1.3
#define IDLE_SHARE 0.7

/* An event that has not passed by then is behind other work: a device with nothing to do needs less to pass it and to say so. */
#define IDLE_KNOWN_NS 7000u

enum state { FREE, TAKEN, PENDING };

struct gs_sample_pair {
	_Atomic enum state state;
	CUcontext context; /* NULL: no events */
	CUevent start, end;
	struct gs_kernel_row *row; /* NULL: nothing in between */
	uint64_t begin, launch;	   /* ticks: when the start had been recorded, and how long the launch took then */
	bool idle;		   /* the device had nothing else to do before the kernel */
};

GSB_HOT _Atomic uint64_t gs_sample_due = NEVER;

static double share; /* of the host's time; fixed at init */
static _Atomic bool stopped, blocking_streams;
static _Atomic bool busy; /* guards what follows */
static struct gs_sample_pair pairs[PAIRS];
static unsigned next_pair, oldest_pair;
static unsigned failures, samples;
static uint64_t cost = COST_FIRST; /* ticks of a sample; mean of late */
static uint64_t empty_ns = NEVER;  /* between two events with nothing in between: mean of late */
static uint32_t random_state = 1;

void gs_sample_init(double percent)
{
	share = percent / 100;
	if (share > 0 && !atomic_load(&stopped) && getenv("CUDA_INJECTION64_PATH") == NULL && getenv("NVTX_INJECTION64_PATH") == NULL &&
	    gs_driver.cuEventElapsedTime != NULL && gs_driver.cuEventCreate != NULL)
		atomic_store(&gs_sample_due, gs_ticks() + FIRST_TICKS);
}

void gs_sample_stop(void)
{
	atomic_store(&stopped, true);
	atomic_store(&gs_sample_due, NEVER);
}

void gs_sample_blocking_stream(void)
{
	atomic_store(&blocking_streams, true);
}

/* Evenly between a half and one and a half of what the share asks for, so that no period of the program meets it. */
static void next_set(uint64_t now)
{
	double pause = (double)cost / share;
	uint64_t ticks = pause < PAUSE_LEAST ? PAUSE_LEAST : (uint64_t)pause;

	random_state = random_state * 1664525u + 1013904223u;
	if (!atomic_load(&stopped))
		atomic_store(&gs_sample_due, now + ticks / 2 + ticks * (random_state >> 16) / 65536);
}

static CUstream named(CUstream handle, bool per_thread)
{
	return handle != NULL ? handle : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static bool allowed(CUstream handle)
{
	return !atomic_load(&stopped) && failures < FAILURES && !gs_order_broken() && !gs_order_blind() &&
	       (handle != CU_STREAM_LEGACY || !atomic_load(&blocking_streams));
}

/* --- pairs, under busy and between gs_order_enter and gs_order_leave ---------------------------------------------- */

static void pair_drop(struct gs_sample_pair *pair)
{
	gs_driver.cuEventDestroy_v2(pair->start);
	gs_driver.cuEventDestroy_v2(pair->end);
	pair->context = NULL;
}

static bool pair_make(struct gs_sample_pair *pair, CUcontext context)
{
	if (pair->context == context)
		return true;
	if (pair->context != NULL)
		pair_drop(pair);
	if (gs_driver.cuEventCreate(&pair->start, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
		return false;
	if (gs_driver.cuEventCreate(&pair->end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
		gs_driver.cuEventDestroy_v2(pair->start);
		return false;
	}
	pair->context = context;
	return true;
}

static struct gs_sample_pair *pair_take(CUstream handle)
{
	struct gs_sample_pair *pair = &pairs[next_pair % PAIRS];
	CUcontext context = NULL;

	if (atomic_load(&pair->state) != FREE || gs_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == NULL)
		return NULL;
	if (!pair_make(pair, context) || gs_driver.cuEventRecord(pair->start, handle) != CUDA_SUCCESS) {
		failures++;
		return NULL;
	}
	pair->begin = gs_ticks();
	next_pair++;
	pair->row = NULL;
	atomic_store(&pair->state, TAKEN);
	return pair;
}

/* Where something else got in between, it does not count. */
static void empty_read(uint64_t taken_ns)
{
	if (empty_ns == NEVER)
		empty_ns = taken_ns;
	else if (taken_ns < 2 * empty_ns)
		empty_ns = (empty_ns * (EMPTY_LATE - 1) + taken_ns) / EMPTY_LATE;
}

static uint64_t around_kernel_ns(const struct gs_sample_pair *pair)
{
	double empty = empty_ns == NEVER ? 0 : (double)empty_ns;

	return pair->idle ? gs_ticks_to_ns(pair->launch) + (uint64_t)(empty * IDLE_SHARE) : (uint64_t)(empty * QUEUED_SHARE);
}

static void pair_read(struct gs_sample_pair *pair)
{
	uint64_t taken_ns, off_ns;
	float ms = 0;

	if (gs_driver.cuEventElapsedTime(&ms, pair->start, pair->end) != CUDA_SUCCESS || !(ms >= 0 && ms < 1e9f))
		return;
	taken_ns = (uint64_t)((double)ms * 1e6);
	if (pair->row == NULL) {
		empty_read(taken_ns);
		return;
	}
	off_ns = around_kernel_ns(pair);
	gs_kernel_sampled(pair->row, taken_ns > off_ns ? taken_ns - off_ns : 0);
}

/* The oldest ones, of which some may be abandoned or still be with a thread. */
static void pairs_read(void)
{
	for (unsigned look = 0; look < LOOKS && oldest_pair != next_pair; look++) {
		struct gs_sample_pair *pair = &pairs[oldest_pair % PAIRS];
		enum state state = atomic_load(&pair->state);

		if (state == TAKEN)
			return;
		if (state == PENDING && pair->context != NULL) {
			CUresult result = gs_driver.cuEventQuery(pair->end);

			if (result == CUDA_ERROR_NOT_READY)
				return;
			if (result == CUDA_SUCCESS)
				pair_read(pair);
			else
				failures++;
		}
		atomic_store(&pair->state, FREE);
		oldest_pair++;
	}
}

/* --- a sample ---------------------------------------------------------------------------------------------------- */

void gs_sample_begin(CUstream given, bool per_thread)
{
	CUstream handle = named(given, per_thread);
	uint64_t before = gs_ticks();
	struct gs_sample_pair *pair = NULL;
	int cancel;

	if (atomic_exchange(&busy, true))
		return;
	if (allowed(handle) && gs_order_enter(&cancel)) {
		pairs_read();
		pair = pair_take(handle);
		if (pair != NULL && ++samples % EMPTY_EVERY == 1) {
			atomic_store(&pair->state, gs_driver.cuEventRecord(pair->end, handle) == CUDA_SUCCESS ? PENDING : FREE);
			pair = NULL;
		}
		gs_order_leave(cancel);
	}
	if (pair != NULL) {
		cost += (gs_ticks() - before) / 16;
		gs_thread.sample = pair;
	}
	next_set(before);
	atomic_store(&busy, false);
}

static bool passed_soon(const struct gs_sample_pair *pair)
{
	CUresult result;

	do
		result = gs_driver.cuEventQuery(pair->start);
	while (result == CUDA_ERROR_NOT_READY && gs_ticks_to_ns(gs_ticks() - pair->begin) < IDLE_KNOWN_NS);
	return result == CUDA_SUCCESS;
}

struct gs_sample_pair *gs_sample_end(CUstream given, bool per_thread, bool launched, uint64_t end_ticks)
{
	struct gs_sample_pair *pair = gs_thread.sample;
	uint64_t before = gs_ticks();
	bool recorded = false;
	int cancel;

	gs_thread.sample = NULL;
	if (launched && gs_order_enter(&cancel)) {
		if (pair->context != NULL) {
			recorded = gs_driver.cuEventRecord(pair->end, named(given, per_thread)) == CUDA_SUCCESS;
			pair->launch = end_ticks - pair->begin;
			pair->idle = passed_soon(pair);
		}
		gs_order_leave(cancel);
	}
	if (!recorded)
		atomic_store(&pair->state, FREE);
	if (!atomic_exchange(&busy, true)) {
		cost -= cost / 16;
		cost += (gs_ticks() - before) / 16;
		atomic_store(&busy, false);
	}
	return recorded ? pair : NULL;
}

void gs_sample_of(struct gs_sample_pair *pair, struct gs_kernel_row *row)
{
	pair->row = row;
	atomic_store(&pair->state, row != NULL ? PENDING : FREE);
}

void gs_sample_context_gone(CUcontext context)
{
	for (unsigned i = 0; i < PAIRS; i++)
		if (pairs[i].context == context)
			pairs[i].context = NULL;
}
