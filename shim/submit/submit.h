/* submit:thread: work is put into a queue (graph/queue.h), and one thread hands it to the driver.
 *
 * What is put off is decided here, and only this: launches of kernels, and copies within a device, memsets, records of events
 * and waits for them, each like one that has succeeded before (shim/submit/known.h), on a stream that means the same in every
 * thread, while no capture is open, no tool watches and all submissions are seen (H15-H18, H22). Every other call that reaches the driver and could tell, or change, what was queued flushes first, by the
 * `flushes` column of its class; so do our own events, waits and unmappings (H3).
 *
 * What was put off has succeeded as far as the program knows. If the driver refuses it all the same, the next
 * call that may return errors of earlier work returns that error. */
#ifndef GS_SUBMIT_SUBMIT_H
#define GS_SUBMIT_SUBMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/submit/attribute.h"
#include "shim/submit/count.h"
#include "shim/watch/set.h"

struct gs_call;

extern _Atomic bool gs_submit_on;      /* work may be put off */
extern _Atomic bool gs_submit_started; /* something may be queued */
extern _Atomic int gs_submit_failed;   /* CUresult of what was put off and refused; 0 = none */

/* Once, at start: on if the settings say so and it can work here; otherwise says why not. */
void gs_submit_start(void);

/* From now on nothing is put off, for good; said once. What is queued stays in order: whoever makes a call flushes. Any
 * thread, with any lock held. */
void gs_submit_stop(const char *why);

/* At exit: the same without a word, and returns when the queue is empty. */
void gs_submit_end(void);

/* Something is about to end or to change that graphs made of launches (graph:auto) depend on: returns when there are none. */
void gs_submit_drop_graphs(void);

/* The same, and none are made any more; said once. */
void gs_submit_end_graphs(const char *why);

/* The program lacks memory: the same as the first, and returns how much it may have given back. */
uint64_t gs_submit_trim(void);

/* In the child of a fork: the thread is gone, and what was queued is the parent's. */
void gs_submit_after_fork(void);

void gs_submit_flush_queue(void);

/* Returns when everything that was put off has been handed to the driver. No lock is taken. */
static inline void gs_submit_flush(void)
{
	if (__builtin_expect(atomic_load_explicit(&gs_submit_started, memory_order_relaxed), 0))
		gs_submit_flush_queue();
}

/* After a call that may return errors of earlier work: what the program gets. */
static inline CUresult gs_submit_settle(CUresult result)
{
	if (__builtin_expect(atomic_load_explicit(&gs_submit_failed, memory_order_relaxed) != 0, 0) &&
	    result == CUDA_SUCCESS)
		return (CUresult)atomic_exchange(&gs_submit_failed, 0);
	return result;
}

struct gs_submit_launch {
	const CUlaunchConfig *config;
	CUfunction function;
	void **params; /* as cuLaunchKernelEx takes them */
	void **extra;
	bool now; /* not to be put off */
	/* Set by gs_submit_launch: */
	bool unknown;	/* the like of it was not seen to succeed before */
	uint64_t epoch; /* of all that its success depends on */
};

uint64_t gs_submit_epoch(void);
bool gs_submit_put(const struct gs_call *call, struct gs_submit_launch *launch);
void gs_submit_learn(const struct gs_call *call, const struct gs_submit_launch *launch);

/* Work on the stream is about to be done: whether it is one of few pieces between two waits, as all were of late. Nothing is gained
 * then by putting it off, and nothing should be lost: the caller makes it. What was put off has been made. */
bool gs_submit_rests(const struct gs_call *call, CUstream stream);

static inline bool gs_submit_is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&gs_submit_on, memory_order_relaxed), 0);
}

/* Before a launch, where work may be put off; elsewhere gs_submit_flush. True: it was put off, and counts as made. False: the
 * caller makes it; what was put off has been made before. */
static inline bool gs_submit_launch(const struct gs_call *call, struct gs_submit_launch *launch)
{
	launch->epoch = gs_submit_epoch();
	return gs_submit_put(call, launch);
}

/* After a launch that the caller has made: the like of it may be put off. */
static inline void gs_submit_launched(const struct gs_call *call, const struct gs_submit_launch *launch, CUresult result)
{
	if (__builtin_expect(launch->unknown, 0) && result == CUDA_SUCCESS)
		gs_submit_learn(call, launch);
}

/* Work other than a launch. */
struct gs_submit_work {
	enum gs_submit_kind kind;
	CUstream stream;
	bool unknown;	/* both as of a launch */
	uint64_t epoch;
	union {
		struct {
			CUdeviceptr to, from;
			size_t size_bytes;
		} copy;
		struct gs_set set;
		CUevent event;
	};
};

bool gs_submit_work_put(const struct gs_call *call, struct gs_submit_work *work);
void gs_submit_work_learn(const struct gs_call *call, const struct gs_submit_work *work);

/* As gs_submit_launch and gs_submit_launched. */
static inline bool gs_submit_work(const struct gs_call *call, struct gs_submit_work *work)
{
	if (work->kind == GS_SUBMIT_NOTHING || !gs_submit_is_on()) {
		gs_submit_flush();
		return false;
	}
	if (gs_submit_rests(call, work->stream))
		return false;
	work->epoch = gs_submit_epoch();
	return gs_submit_work_put(call, work);
}

static inline void gs_submit_worked(const struct gs_call *call, const struct gs_submit_work *work, CUresult result)
{
	if (__builtin_expect(work->unknown, 0) && result == CUDA_SUCCESS)
		gs_submit_work_learn(call, work);
}

/* An attribute of a function is about to be set: flushes, unless that changes nothing, which is what it returns. And
 * afterwards: it was set to another value than before. */
bool gs_submit_attribute_stays(const struct gs_attribute *attribute, int value);
void gs_submit_attribute_set(const struct gs_attribute *attribute, int value);

/* Code was unloaded, or a context ended: handles of functions may be used again. */
void gs_submit_code_gone(void);

/* A context ended, and its events. */
void gs_submit_context_gone(void);

/* Something else that launches depend on has changed: none is known any more. */
void gs_submit_forget(void);

#endif
