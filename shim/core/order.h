/* What is known of the order of work beyond single streams: open captures, copies to the host that may still be running, and
 * whether there are streams that the legacy one keeps in order. See hazards H4 and H9. Lock-free, except that the list of capturing streams has a lock. */
#ifndef GS_CORE_ORDER_H
#define GS_CORE_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/base/hot.h"

/* Before the driver is asked to begin a capture on the stream, and once that has failed or the capture has ended. The
 * first waits for the threads between gs_order_enter and gs_order_leave, and a while for those that wait for a context. The per-thread stream goes by the handle
 * CU_STREAM_PER_THREAD. */
void gs_order_capture_begins(CUstream stream);
void gs_order_capture_ended(CUstream stream);
void gs_order_stream_gone(CUstream stream);

/* The context is gone, and with it the captures that were open there. */
void gs_order_context_gone(CUcontext context);

/* Between the two the thread may record on, and ask about, streams and contexts of the program: no capture begins and
 * no context ends meanwhile; nor is it cancelled, *ret_cancel is for gs_order_leave. False: not now, do nothing. Not
 * for calls that wait for the device. */
bool gs_order_enter(int *ret_cancel);
void gs_order_leave(int cancel);

/* Between the two the thread may wait for a context, which would break a capture that is open there. So one that would begin
 * waits for it, but for no longer than some 100 ms: what the device waits for may be what that thread does next. False: a
 * capture is open, do not wait. */
bool gs_order_wait_enter(void);
void gs_order_wait_leave(void);

/* Around the end of a context: keeps all others from gs_order_enter and gs_order_memory_enter, and waits for those inside. Returns what
 * gs_order_let_go wants; the thread is not cancelled in between. */
int gs_order_hold(void);
void gs_order_let_go(int cancel);

/* Between the two memory that dies with its context may be in no book of ours while the driver has it: no context ends
 * meanwhile. Waits while one does. Who is going to wait for the device, or to end a context that has work, waits before: what
 * the device waits for may be what another thread does next, who would wait here. Returns what gs_order_memory_leave wants; the thread is not
 * cancelled in between. */
int gs_order_memory_enter(void);
void gs_order_memory_leave(int cancel);

/* Waits until nobody holds: the handle of a context just made may be that of one whose end is being worked on. */
void gs_order_await(void);

/* A capture began, or may have, of which we cannot know when it ends: there was no host memory to note it, or a function
 * that the table does not list was called. Or work goes where no event of ours covers it. From then on a capture counts as open, for
 * good: nothing is served, used again or given back. how: what cannot be followed. */
void gs_order_capture_lost(const char *how);

/* True while any capture of the process may be open: nothing of ours may then be recorded, waited for, mapped or
 * synchronised outside a relaxed exchange (H9). */
bool gs_order_capturing(void);

/* Between the two the calling thread may make driver calls that touch no stream without breaking a capture of another
 * thread, be it open already or begun meanwhile, and is not cancelled in the middle of them. */
struct gs_order_relaxed {
	CUstreamCaptureMode mode; /* the thread's own */
	bool exchanged;
	int cancel;
};
struct gs_order_relaxed gs_order_relaxed_begin(void);
void gs_order_relaxed_end(struct gs_order_relaxed saved);

/* True when this very stream takes part in an open capture, also by an event it waited for. Asks the driver. */
bool gs_order_stream_captures(CUstream stream);

/* A driver call failed. Errors that stick to a context (an illegal access and its like) make every later call of it
 * fail; a cache that goes on serving would hide them. True once such an error was seen: memory is then left to the
 * driver, whose answer is the true one, until the context is gone. */
bool gs_order_breaks(CUresult result);
void gs_order_note_error(CUresult result);
bool gs_order_broken(void);

/* Work was submitted that may write host memory later, or that no event can be recorded behind any more. */
void gs_order_note_to_host(void);

/* True when such work may still be running. The mark is taken before a host wait and handed back after it. */
bool gs_order_to_host_pending(void);
uint64_t gs_order_to_host_mark(void);
void gs_order_to_host_settled(uint64_t mark);

/* Somebody submits work by a way that we do not see (H1): copies to the host count as pending for ever. */
void gs_order_lost_sight(const char *how);
bool gs_order_blind(void);

/* A blocking stream beside the legacy one is there, or may be: it was made, the per-thread one was given work, or work can come
 * unseen. From then on a free on the legacy stream is to keep such streams in order (gs_fence_barrier). */
extern GSB_OURS _Atomic bool gs_order_blocking_seen;
void gs_order_note_first_blocking(void);

static inline void gs_order_note_blocking(void)
{
	if (__builtin_expect(!atomic_load_explicit(&gs_order_blocking_seen, memory_order_relaxed), 0))
		gs_order_note_first_blocking();
}

/* Grows when the legacy stream is given work that nobody has looked for yet: before and after two equal values it was given none.
 * gs_order_legacy_watch reads it, and is called before whatever is to come after the work until then. */
uint64_t gs_order_legacy_watch(void);
extern GSB_OURS _Atomic bool gs_order_legacy_watched;
void gs_order_note_watched_legacy(void);

static inline void gs_order_note_legacy(void)
{
	if (__builtin_expect(atomic_load_explicit(&gs_order_legacy_watched, memory_order_acquire), 0))
		gs_order_note_watched_legacy();
}

static inline bool gs_order_is_legacy(CUstream stream)
{
	return (uintptr_t)stream <= (uintptr_t)CU_STREAM_LEGACY;
}

/* Before the stream is given work, by whatever function: where 0 means the thread's own stream it is taken for both. */
static inline void gs_order_note_stream(CUstream stream)
{
	if (__builtin_expect(stream == CU_STREAM_PER_THREAD, 0))
		gs_order_note_blocking();
	else if (gs_order_is_legacy(stream))
		gs_order_note_legacy();
}

void gs_order_reset_locks(void);

#endif
