/* One intercepted call, from entry to return. The entries are made from the table; this is what they all share. */
#ifndef GS_API_CALL_H
#define GS_API_CALL_H

#include <stdbool.h>

#include "shim/api/fn.h"
#include "shim/base/hot.h"
#include "shim/core/counter.h"
#include "shim/core/mode.h"
#include "shim/core/purge.h"
#include "shim/core/thread.h"
#include "shim/snap/trigger.h"
#include "shim/watch/wait.h"

struct gs_call {
	enum gs_fn fn;
	uint64_t start_ticks; /* 0: not timed */
	uint64_t end_ticks;   /* of the driver's return, where a handler took the time; 0: gs_call_end takes it */
	const void *caller;   /* return address of the entry */
	struct gs_wait_call wait; /* of timed classes */
};

/* False once gs_boot_start has decided that the shim cannot work here (there is no driver). Starts it if needed. */
bool gs_boot_ready(void);

/* Work that may write host memory later was submitted: shim/core/order.c. */
void gs_order_note_to_host(void);

/* The call failed: shim/watch/sticky.c. */
struct gs_call;
void gs_sticky_look(const struct gs_call *call, CUresult result);

/* Gives the memory that all devices hold free back to the driver: shim/core/device.c. */
uint64_t gs_devices_trim(bool wait);

/* The setting `hazards`: shim/watch/hazard.h. */
extern GSB_OURS bool gs_hazards;
void gs_hazard_called(const struct gs_call *call, enum gs_call_class call_class);

extern GSB_OURS bool gs_call_timed; /* the setting `watch`; constant after start */

/* Before the driver is asked: when the call began, if that is known, and now otherwise. */
static inline uint64_t gs_call_moment(const struct gs_call *call)
{
	return call->start_ticks != 0 ? call->start_ticks : gs_ticks();
}

static inline bool gs_call_ready(void)
{
	return __builtin_expect(gs_mode() == GS_MODE_ACTIVE, 1) || gs_boot_ready();
}

/* What begins and ends an entry is inlined into each: its class is a constant there, and most of this falls away. */
#define GS_CALL_INLINE static inline __attribute__((always_inline))

/* Launches have nothing that is known of a wait before they are made. */
GS_CALL_INLINE bool gs_call_launches(enum gs_call_class call_class)
{
	return call_class == GS_CLASS_LAUNCH || call_class == GS_CLASS_GRAPH_LAUNCH;
}

/* At the start of a driver entry. False: call the real function and do nothing else. */
GS_CALL_INLINE bool gs_call_begin(struct gs_call *call, enum gs_fn fn, enum gs_call_class call_class, bool timed,
				 bool submits, const void *caller)
{
	enum gs_mode mode = gs_mode();

	if ((mode != GS_MODE_ACTIVE && (mode != GS_MODE_ENDED || call_class != GS_CLASS_FREE)) || gs_thread.inside != 0)
		return false;
	gs_thread.inside = 1;
	gs_thread.driver_fn = fn;
	call->fn = fn;
	call->caller = caller;
	if (submits)
		gs_counter_work_begin();
	call->start_ticks = 0;
	call->end_ticks = 0;
	if (timed && !gs_call_launches(call_class))
		call->wait = (struct gs_wait_call){0};
	if (timed && gs_call_timed) {
		if (call_class == GS_CLASS_SYNC)
			gs_wait_expect(call);
		else
			call->start_ticks = gs_ticks();
	}
	return true;
}

/* What the call showed of waiting; each class comes to the lines that are for it. */
GS_CALL_INLINE void gs_call_note_wait(struct gs_call *call, CUresult result, enum gs_call_class call_class, bool timed,
				      uint64_t ticks)
{
	if (gs_call_launches(call_class)) {
		if (__builtin_expect(ticks >= GS_WAIT_SHORT_TICKS, 0)) {
			call->wait = (struct gs_wait_call){0};
			gs_wait_ended(call, result, ticks);
		}
		gs_wait_launched();
	} else if (timed && (ticks >= GS_WAIT_SHORT_TICKS ||
			     (call->start_ticks != 0 && (call->wait.stacked || call->wait.size_bytes != 0)))) {
		gs_wait_ended(call, result, ticks);
	}
	if (call_class == GS_CLASS_POLL && gs_call_timed)
		gs_wait_polled(call, result != CUDA_ERROR_NOT_READY);
	if (call_class == GS_CLASS_HOST_ALLOC || call_class == GS_CLASS_HOST_FREE)
		gs_wait_memory_changed();
}

/* What has become due, at the end of a call; ticks are 0 when it was not timed. The thread is inside and holds no lock. */
GS_CALL_INLINE void gs_call_do_due(CUresult result, uint64_t ticks)
{
	if (__builtin_expect(gs_trigger_is_due(ticks), 0))
		gs_trigger_fire(ticks);
	if (__builtin_expect(result == CUDA_SUCCESS && gs_purge_is_due(ticks), 0))
		gs_purge_look(ticks);
}

GS_CALL_INLINE void gs_call_end(struct gs_call *call, CUresult result, enum gs_call_class call_class, bool timed,
				bool submits, bool to_host)
{
	uint64_t end_ticks = !timed ? 0 : call->end_ticks != 0 ? call->end_ticks : call->start_ticks != 0 ? gs_ticks() : 0;
	uint64_t ticks = timed ? end_ticks - call->start_ticks : 0;

	if (__builtin_expect(result != CUDA_SUCCESS, 0))
		gs_sticky_look(call, result);
	if (to_host)
		gs_order_note_to_host();
	gs_counter_add(call->fn, ticks);
	if (submits)
		gs_counter_work_end();
	if (__builtin_expect(gs_hazards, 0) && result == CUDA_SUCCESS)
		gs_hazard_called(call, call_class);
	gs_call_note_wait(call, result, call_class, timed, ticks);
	gs_call_do_due(result, end_ticks);
	gs_thread.inside = 0;
}

/* At the start of a runtime entry; the return address is the program's. Counts at once: the work below is counted at
 * the driver. Starts the shim if needed, so that the first call of a process lends its name too. False when the shim is
 * not active. */
struct gs_runtime_call {
	uint32_t outer_fn;
	const void *outer_caller;
};

static inline bool gs_runtime_call_begin(struct gs_runtime_call *call, enum gs_fn fn, const void *caller)
{
	if (!gs_call_ready() || gs_mode() != GS_MODE_ACTIVE || gs_thread.inside != 0)
		return false;
	gs_counter_add(fn, 0);
	call->outer_fn = gs_thread.runtime_fn;
	call->outer_caller = gs_thread.caller;
	if (call->outer_fn == 0) {
		gs_thread.runtime_fn = fn + 1;
		gs_thread.caller = caller;
	}
	return true;
}

static inline void gs_runtime_call_end(const struct gs_runtime_call *call)
{
	gs_thread.runtime_fn = call->outer_fn;
	gs_thread.caller = call->outer_caller;
}

#endif
