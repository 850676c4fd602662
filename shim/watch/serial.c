/* See serial.h. The newest work of a few blocking streams and the newest on the legacy stream are remembered, of one
 * context at a time: programs that change it in turn are not judged. */
#include "shim/watch/serial.h"

#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/watch/crossing.h"

#define STREAMS 16u

struct work {
	uint64_t stream; /* id; 0 = none */
	uint64_t when;
	uint32_t name, stack;
};

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
static uint32_t context;
static struct work newest[STREAMS]; /* of blocking streams */
static unsigned next;
static struct work barrier;	    /* on the legacy stream; none once it has been counted */
static struct work before[STREAMS]; /* what it may have had to wait for */

static struct work *of_stream(uint64_t id)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	for (unsigned i = 0; i < STREAMS; i++)
		if (newest[i].stream == id)
			return &newest[i];
	return &newest[next++ % STREAMS];
}

static bool pending(const struct work *work, bool blocking)
{
	return work->stream != 0 && !gs_proven_is(work->stream, context, blocking, work->when);
}

/* Another stream than this one that the barrier may have had to wait for; NULL. */
static const struct work *other(uint64_t id)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (before[i].stream != 0 && before[i].stream != id)
			return &before[i];
	return NULL;
}

static void barrier_set(uint64_t stream, uint64_t when, uint32_t name, uint32_t stack)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	barrier = (struct work){stream, when, name, stack};
}

/* The lock of proven.h is taken before this one's work is changed, never while it is held. */
static void barrier_raise(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when)
{
	struct work known[STREAMS];
	bool any = false;

	gsb_lock_acquire(&lock);
	memcpy(known, newest, sizeof(known));
	gsb_lock_release(&lock);
	for (unsigned i = 0; i < STREAMS; i++) {
		if (!pending(&known[i], true))
			known[i].stream = 0;
		any |= known[i].stream != 0;
	}
	gsb_lock_acquire(&lock);
	memcpy(before, known, sizeof(before));
	barrier_set(any ? stream->id : 0, when, name, stack);
	gsb_lock_release(&lock);
}

static void barrier_pass(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when)
{
	struct gs_crossing crossing = {.kind = GS_CROSSING_SERIALISED};
	const struct work *held = NULL;
	struct work raised;

	gsb_lock_acquire(&lock);
	*of_stream(stream->id) = (struct work){stream->id, when, name, stack};
	raised = barrier;
	if (raised.stream != 0 && (held = other(stream->id)) != NULL)
		crossing = (struct gs_crossing){.kind = GS_CROSSING_SERIALISED,
						.stack = raised.stack,
						.name = raised.name,
						.other_stack = held->stack,
						.other_name = held->name,
						.stream = stream->id,
						.other_stream = held->stream};
	gsb_lock_release(&lock);
	if (held == NULL || !pending(&raised, false))
		return;
	gsb_lock_acquire(&lock);
	barrier_set(0, 0, 0, 0);
	gsb_lock_release(&lock);
	gs_crossing_add(&crossing);
}

void gs_serial_look(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when)
{
	gsb_lock_acquire(&lock);
	if (context != stream->context) {
		context = stream->context;
		memset(newest, 0, sizeof(newest));
		barrier_set(0, 0, 0, 0);
	}
	gsb_lock_release(&lock);
	if (stream->legacy)
		barrier_raise(stream, name, stack, when);
	else
		barrier_pass(stream, name, stack, when);
}

void gs_serial_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
