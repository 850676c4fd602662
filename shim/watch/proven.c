/* See proven.h. Three small tables of fixed size. A stream or an event that finds no room takes the place of another,
 * whose knowledge is forgotten. What pending work is judged by can be read without the lock: a reader may see a stream that
 * takes the place of another half and half, and then hold it for busier than it is.
 *
 * Streams that may have work are listed. One that has ended and is done goes off the list, so that a program may make and end
 * as many as it likes; what is known of it stays until its place is taken. */
#include "shim/watch/proven.h"

#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"

#define STREAMS GS_PROVEN_STREAMS
#define EVENTS 4096u
#define CONTEXTS 64u
#define PROBES 8u
#define WAITS 8u /* of a stream for others that are remembered */
#define MADE_UP_ID (3ull << 50)

struct wait {
	uint64_t when;	 /* 0 = none */
	uint64_t stream; /* waited for, up to a moment */
	uint64_t before;
};

struct stream {
	_Atomic uint64_t id; /* 0 = free */
	_Atomic uint64_t before;
	_Atomic uint32_t context; /* 0 = unknown */
	_Atomic bool blocking, legacy;
	bool listed, ended;
	struct wait waits[WAITS];
	unsigned next_wait;
};

struct context {
	_Atomic uint32_t context; /* 0 = free */
	_Atomic uint64_t before;
	_Atomic uint64_t blocking_before;
};

struct event {
	CUevent event; /* NULL = free */
	uint64_t stream;
	uint64_t before;
};

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
static struct stream streams[STREAMS];
static _Atomic uint16_t list[STREAMS]; /* places of streams */
static _Atomic unsigned list_count;
static unsigned list_due;	  /* with so many it is looked for streams that have ended, */
static bool list_ends;		  /* if there are any */
static _Atomic uint64_t removals; /* odd: one is going on, and who reads the list may miss a stream */
static _Atomic bool crowded;	  /* a stream on the list has lost its place: what is submitted there is no longer told apart */
static struct event events[EVENTS];
static struct context contexts[CONTEXTS];
static unsigned next_context;

struct gs_submitted gs_submitted[GS_PROVEN_STREAMS + 1];
GSB_HOT _Atomic unsigned gs_proven_blocking;

#define LOOKS 64u /* streams of which the work of a context is looked for; with more, some is taken to be pending */
#define LOOKS_APART (LOOKS / 2) /* streams that come between two looks for those that have ended */

/* --- streams ----------------------------------------------------------------------------------------------------- */

uint32_t gs_work_context(CUcontext context)
{
	uint32_t name = (uint32_t)((uintptr_t)context >> 4);

	return name != 0 ? name : context != NULL;
}

static void stream_guess(CUstream handle, struct gs_work_stream *ret_stream)
{
	CUcontext context = NULL;

	gs_driver.cuCtxGetCurrent(&context);
	ret_stream->id = MADE_UP_ID | ((uintptr_t)handle & ((1ull << 48) - 1));
	ret_stream->context = gs_work_context(context);
	ret_stream->made_up = true;
}

/* Where the driver does not say so, too: other questions about a stream that captures end the capture. */
static bool may_capture(CUstream handle)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return gs_order_capturing() && (gs_driver.cuStreamIsCapturing(handle, &status) != CUDA_SUCCESS ||
					status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static struct stream *stream_record(uint64_t id, bool make);
static void list_add(struct stream *record);
static void list_clean(void);

static void stream_place(struct gs_work_stream *stream)
{
	struct stream *record;

	gsb_lock_acquire(&lock);
	record = stream_record(stream->id, true);
	record->context = stream->context;
	if (stream->blocking && !record->blocking)
		atomic_fetch_add_explicit(&gs_proven_blocking, 1, memory_order_relaxed);
	record->blocking = stream->blocking;
	record->legacy = stream->legacy;
	record->ended = false;
	if (!record->listed)
		list_add(record);
	stream->place = (uint16_t)(record - streams + 1);
	gsb_lock_release(&lock);
}

void gs_work_stream_find(CUstream handle, bool per_thread, struct gs_work_stream *ret_stream)
{
	struct gsa_stream stream;
	unsigned int flags = CU_STREAM_NON_BLOCKING;

	memset(ret_stream, 0, sizeof(*ret_stream));
	if (handle == NULL)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (may_capture(handle)) {
		ret_stream->captured = true;
		return;
	}
	if (gs_stream_resolve(handle, per_thread, &stream)) {
		ret_stream->id = stream.id;
		ret_stream->context = gs_work_context((CUcontext)(uintptr_t)stream.owner);
	} else {
		stream_guess(handle, ret_stream);
	}
	if (handle != CU_STREAM_LEGACY && gs_driver.cuStreamGetFlags(handle, &flags) == CUDA_SUCCESS)
		ret_stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
	ret_stream->legacy = handle == CU_STREAM_LEGACY;
	stream_place(ret_stream);
}

/* How much would be lost with it. */
static unsigned worth(const struct stream *stream)
{
	return stream->id == 0 ? 0 : !stream->listed ? 1 : stream->ended ? 2 : 3;
}

static bool gives_way(const struct stream *stream, const struct stream *other)
{
	return worth(stream) != worth(other) ? worth(stream) < worth(other) : stream->before < other->before;
}

/* make: where there is none, with room made if need be. */
static struct stream *stream_record(uint64_t id, bool make)
{
	unsigned at = (unsigned)((id * 0x9e3779b97f4a7c15u) >> 40) % STREAMS;
	struct stream *oldest = &streams[at];

	gsb_debug_assert(gsb_lock_held(&lock));
	for (unsigned i = 0; i < PROBES; i++) {
		struct stream *stream = &streams[(at + i) % STREAMS];

		if (stream->id == id)
			return stream;
		if (gives_way(stream, oldest))
			oldest = stream;
	}
	if (!make)
		return NULL;
	if (oldest->listed)
		list_clean();
	if (oldest->listed && !oldest->ended)
		atomic_store_explicit(&crowded, true, memory_order_relaxed);
	oldest->before = 0;
	oldest->context = 0;
	oldest->blocking = false;
	oldest->ended = false;
	memset(oldest->waits, 0, sizeof(oldest->waits));
	oldest->next_wait = 0;
	oldest->id = id;
	return oldest;
}

/* What it had waited for is done too. Ends, because each step proves something that was not. */
static void stream_prove(uint64_t id, uint64_t before)
{
	struct stream *stream = stream_record(id, true);

	if (before <= stream->before)
		return;
	stream->before = before;
	for (unsigned i = 0; i < WAITS && i < stream->next_wait; i++) {
		struct wait wait = stream->waits[i];

		if (wait.when == 0 || wait.when >= before)
			continue;
		stream->waits[i].when = 0;
		stream_prove(wait.stream, wait.before);
		if (stream->id != id)
			return;
	}
}

static struct context *context_record(uint32_t name)
{
	struct context *context;

	gsb_debug_assert(gsb_lock_held(&lock));
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (contexts[i].context == name)
			return &contexts[i];
	context = &contexts[next_context++ % CONTEXTS];
	context->before = 0;
	context->blocking_before = 0;
	context->context = name;
	return context;
}

void gs_proven_stream(uint64_t stream, uint64_t before)
{
	if (stream == 0)
		return;
	gsb_lock_acquire(&lock);
	stream_prove(stream, before);
	gsb_lock_release(&lock);
}

void gs_proven_context(uint32_t context, uint64_t before)
{
	struct context *record;

	if (context == 0)
		return;
	gsb_lock_acquire(&lock);
	record = context_record(context);
	if (before > record->before)
		record->before = before;
	gsb_lock_release(&lock);
}

void gs_proven_legacy(const struct gs_work_stream *legacy, uint64_t before)
{
	struct context *record;

	if (legacy->id == 0)
		return;
	gsb_lock_acquire(&lock);
	stream_prove(legacy->id, before);
	if (legacy->context != 0) {
		record = context_record(legacy->context);
		if (before > record->blocking_before)
			record->blocking_before = before;
	}
	gsb_lock_release(&lock);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static struct event *event_place(CUevent event)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return &events[(((uintptr_t)event >> 3) * 0x9e3779b97f4a7c15u >> 40) % EVENTS];
}

void gs_proven_event_recorded(CUevent event, const struct gs_work_stream *stream, uint64_t before)
{
	struct event *place;

	gsb_lock_acquire(&lock);
	place = event_place(event);
	if (stream->id != 0)
		*place = (struct event){.event = event, .stream = stream->id, .before = before};
	else if (place->event == event)
		place->event = NULL;
	gsb_lock_release(&lock);
}

void gs_proven_event_done(CUevent event)
{
	struct event *place;

	gsb_lock_acquire(&lock);
	place = event_place(event);
	if (event != NULL && place->event == event)
		stream_prove(place->stream, place->before);
	gsb_lock_release(&lock);
}

void gs_proven_event_gone(CUevent event)
{
	struct event *place;

	gsb_lock_acquire(&lock);
	place = event_place(event);
	if (place->event == event)
		place->event = NULL;
	gsb_lock_release(&lock);
}

void gs_proven_stream_waits(const struct gs_work_stream *stream, CUevent event, uint64_t when)
{
	struct event *place;
	struct stream *record;

	if (stream->id == 0)
		return;
	gsb_lock_acquire(&lock);
	place = event_place(event);
	if (event != NULL && place->event == event && place->stream != stream->id) {
		record = stream_record(stream->id, true);
		record->waits[record->next_wait++ % WAITS] =
			(struct wait){.when = when, .stream = place->stream, .before = place->before};
	}
	gsb_lock_release(&lock);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

bool gs_proven_is(uint64_t stream, uint32_t context, bool blocking, uint64_t when)
{
	const struct stream *record;
	bool proven = false;

	gsb_lock_acquire(&lock);
	record = stream_record(stream, false);
	if (record != NULL)
		proven = when < record->before;
	for (unsigned i = 0; context != 0 && i < CONTEXTS && !proven; i++)
		if (contexts[i].context == context)
			proven = when < contexts[i].before || (blocking && when < contexts[i].blocking_before);
	gsb_lock_release(&lock);
	return proven;
}

/* --- what is pending ---------------------------------------------------------------------------------------------- */

static bool context_done(uint32_t name, bool blocking, uint64_t when)
{
	for (unsigned i = 0; name != 0 && i < CONTEXTS; i++) {
		uint32_t context = atomic_load_explicit(&contexts[i].context, memory_order_relaxed);

		if (context == 0)
			return false;
		if (context == name)
			return when < atomic_load_explicit(&contexts[i].before, memory_order_relaxed) ||
			       (blocking &&
				when < atomic_load_explicit(&contexts[i].blocking_before, memory_order_relaxed));
	}
	return false;
}

/* when: of the newest work of the stream. */
static bool record_pending(const struct stream *record, uint64_t when)
{
	return when != 0 && when >= atomic_load_explicit(&record->before, memory_order_relaxed) &&
	       !context_done(atomic_load_explicit(&record->context, memory_order_relaxed),
			     atomic_load_explicit(&record->blocking, memory_order_relaxed), when);
}

static uint64_t newest(unsigned place)
{
	return atomic_load_explicit(&gs_submitted[place].when, memory_order_relaxed);
}

/* only_blocking: of the context's streams those for which its legacy stream waits. */
static bool any_pending(uint32_t context, bool only_blocking)
{
	uint64_t before = atomic_load_explicit(&removals, memory_order_acquire);
	unsigned count = atomic_load_explicit(&list_count, memory_order_relaxed);

	if (count > LOOKS || before % 2 != 0 || context == 0 || atomic_load_explicit(&crowded, memory_order_relaxed) ||
	    gs_order_blind())
		return true;
	for (unsigned i = 0; i < count; i++) {
		unsigned at = atomic_load_explicit(&list[i], memory_order_relaxed);
		const struct stream *record = &streams[at];

		if (atomic_load_explicit(&record->context, memory_order_relaxed) == context &&
		    (!only_blocking || atomic_load_explicit(&record->blocking, memory_order_relaxed) ||
		     atomic_load_explicit(&record->legacy, memory_order_relaxed)) &&
		    record_pending(record, newest(at + 1)))
			return true;
	}
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&removals, memory_order_relaxed) != before;
}

bool gs_proven_context_pending(uint32_t context)
{
	return any_pending(context, false);
}

bool gs_proven_stream_pending(const struct gs_work_stream *stream)
{
	if (stream->place == 0 || gs_order_blind() || streams[stream->place - 1].id != stream->id)
		return true;
	if (stream->legacy)
		return any_pending(stream->context, true);
	return record_pending(&streams[stream->place - 1], newest(stream->place));
}

bool gs_proven_event_pending(CUevent event, uint32_t *ret_context, bool *ret_followed)
{
	const struct event *place;
	const struct stream *record;
	bool pending = true;

	*ret_context = 0;
	*ret_followed = false;
	gsb_lock_acquire(&lock);
	place = event_place(event);
	if (event != NULL && place->event == event && (record = stream_record(place->stream, false)) != NULL) {
		uint64_t when = newest((unsigned)(record - streams) + 1);

		*ret_context = record->context;
		*ret_followed = when > place->before;
		pending = record->legacy ? any_pending(record->context, true)
					 : record_pending(record, when < place->before ? when : place->before);
	}
	gsb_lock_release(&lock);
	return pending || gs_order_blind();
}

/* --- streams that end --------------------------------------------------------------------------------------------- */

static void list_remove(unsigned i)
{
	unsigned at = list[i];

	gsb_debug_assert(gsb_lock_held(&lock));
	atomic_fetch_add(&removals, 1);
	list[i] = list[list_count - 1];
	list_count--;
	streams[at].listed = false;
	atomic_store(&gs_submitted[at + 1].when, 0);
	atomic_fetch_add(&removals, 1);
}

/* Those that have ended and are done go. */
static void list_clean(void)
{
	bool ends = false;

	for (unsigned i = list_ends ? list_count : 0; i-- > 0;) {
		unsigned at = list[i];

		if (streams[at].ended && !record_pending(&streams[at], newest(at + 1)))
			list_remove(i);
		else
			ends = ends || streams[at].ended;
	}
	list_ends = ends;
	list_due = list_count + LOOKS_APART;
}

static void list_add(struct stream *record)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	if (list_count >= list_due)
		list_clean();
	list[list_count++] = (uint16_t)(record - streams);
	record->listed = true;
}

void gs_proven_stream_ends(uint64_t id)
{
	struct stream *record;

	gsb_lock_acquire(&lock);
	record = stream_record(id, false);
	if (record != NULL)
		record->ended = list_ends = true;
	gsb_lock_release(&lock);
}

void gs_proven_thread_ends(uint32_t serial)
{
	gsb_lock_acquire(&lock);
	for (unsigned i = 0; i < list_count; i++)
		if (gs_stream_is_of_thread(streams[list[i]].id, serial))
			streams[list[i]].ended = list_ends = true;
	gsb_lock_release(&lock);
}

void gs_proven_context_gone(uint32_t context)
{
	gsb_lock_acquire(&lock);
	for (unsigned i = list_count; i-- > 0;)
		if (streams[list[i]].context == context)
			list_remove(i);
	gsb_lock_release(&lock);
}

void gs_proven_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
