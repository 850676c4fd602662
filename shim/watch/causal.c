/* See causal.h. What legacy streams order is worked out when it is asked for, with the clocks as they are then: later
 * than it took effect, so that a little more counts as ordered than is. */
#include "shim/watch/causal.h"

#include <stdatomic.h>
#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"

#define STREAMS GS_CAUSAL_STREAMS
#define EVENTS 1024u
#define PROBES 4u

struct clock {
	uint64_t at[STREAMS]; /* by slot: moments; 0 = nothing */
};

struct stream {
	uint64_t id; /* 0 = free */
	uint32_t context;
	bool blocking, legacy;
	uint64_t newest; /* moment of its newest work */
	struct clock clock;
};

struct event {
	CUevent event; /* NULL = free */
	struct clock clock;
};

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
static struct stream streams[STREAMS];
static struct event events[EVENTS];
static struct clock host; /* what it knows to be done */
static bool full;	  /* nothing is judged any more */

static _Atomic bool distrusted; /* events */

static void clock_join(struct clock *clock, const struct clock *other)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (other->at[i] > clock->at[i])
			clock->at[i] = other->at[i];
}

static void clock_reach(struct clock *clock, unsigned slot, uint64_t when)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	if (when > clock->at[slot])
		clock->at[slot] = when;
}

/* Everything that was ever submitted. */
static void clock_all(struct clock *clock)
{
	for (unsigned i = 0; i < STREAMS; i++)
		clock_reach(clock, i, streams[i].newest);
}

/* A stream that has not been used since the host knows of its end gives its slot away. Moments of the old one are earlier
 * than any of the new one. What is done with a stream that may be any of the known ones orders everything. */
static bool slot_find(const struct gs_work_stream *stream, unsigned *ret_slot)
{
	unsigned spare = STREAMS;

	gsb_debug_assert(gsb_lock_held(&lock));
	if (stream->made_up) {
		clock_all(&host);
		return false;
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		if (streams[i].id == stream->id) {
			*ret_slot = i;
			return true;
		}
		if (spare == STREAMS && streams[i].newest <= host.at[i])
			spare = i;
	}
	if (stream->id == 0)
		return false;
	if (spare == STREAMS) {
		full = true;
		gsb_log(GSB_LOG_WARN, "hazards are no longer looked for: more than %u streams have work that nobody has waited for", STREAMS);
		return false;
	}
	memset(&streams[spare], 0, sizeof(streams[spare]));
	streams[spare].id = stream->id;
	streams[spare].context = stream->context;
	streams[spare].blocking = stream->blocking;
	streams[spare].legacy = stream->legacy;
	*ret_slot = spare;
	return true;
}

/* All that comes before what the stream is given next. */
static void clock_of(unsigned slot, struct clock *ret_clock)
{
	const struct stream *self = &streams[slot];

	gsb_debug_assert(gsb_lock_held(&lock));
	*ret_clock = self->clock;
	clock_join(ret_clock, &host);
	if (!self->blocking && !self->legacy)
		return;
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *legacy = &streams[i];

		if (legacy->id == 0 || !legacy->legacy || legacy->context != self->context || legacy->newest == 0)
			continue;
		clock_reach(ret_clock, i, legacy->newest);
		clock_join(ret_clock, &legacy->clock);
		for (unsigned at = 0; at < STREAMS; at++) {
			const struct stream *stream = &streams[at];

			if (stream->id == 0 || !stream->blocking || stream->context != self->context)
				continue;
			clock_reach(ret_clock, at, self->legacy ? stream->newest : legacy->newest);
			clock_join(ret_clock, &stream->clock);
		}
	}
}

bool gs_causal_work(const struct gs_work_stream *stream, uint64_t when, struct gs_causal_point *ret_point)
{
	unsigned slot;
	bool found;

	gsb_lock_acquire(&lock);
	found = !full && slot_find(stream, &slot);
	if (found) {
		if (when > streams[slot].newest)
			streams[slot].newest = when;
		*ret_point = (struct gs_causal_point){.when = when, .stream = stream->id, .slot = (uint8_t)slot};
	}
	gsb_lock_release(&lock);
	return found;
}

/* The point is of the stream that has its slot now. */
static bool slot_stays(const struct gs_causal_point *point)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return streams[point->slot].id == point->stream;
}

bool gs_causal_before(const struct gs_causal_point *earlier, const struct gs_causal_point *later)
{
	struct clock clock;
	bool before = true;

	gsb_lock_acquire(&lock);
	if (!full && earlier->stream != later->stream && slot_stays(earlier) && slot_stays(later)) {
		clock_of(later->slot, &clock);
		before = earlier->when <= clock.at[earlier->slot];
	}
	gsb_lock_release(&lock);
	return before;
}

bool gs_causal_done(const struct gs_causal_point *point)
{
	bool done;

	gsb_lock_acquire(&lock);
	done = full || !slot_stays(point) || point->when <= host.at[point->slot];
	gsb_lock_release(&lock);
	return done;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static struct event *event_find(CUevent event, bool make)
{
	unsigned at = (unsigned)(((uintptr_t)event >> 3) * 0x9e3779b97f4a7c15u >> 40) % EVENTS;

	gsb_debug_assert(gsb_lock_held(&lock));
	for (unsigned i = 0; i < PROBES; i++)
		if (events[(at + i) % EVENTS].event == event)
			return &events[(at + i) % EVENTS];
	if (!make)
		return NULL;
	for (unsigned i = 0; i < PROBES; i++)
		if (events[(at + i) % EVENTS].event == NULL)
			return &events[(at + i) % EVENTS];
	return &events[at];
}

void gs_causal_recorded(CUevent event, const struct gs_work_stream *stream, uint64_t before)
{
	struct event *record;
	unsigned slot;

	gsb_lock_acquire(&lock);
	if (stream->captured || full || !slot_find(stream, &slot)) {
		record = event_find(event, false);
		if (record != NULL)
			record->event = NULL;
	} else {
		record = event_find(event, true);
		if (before > streams[slot].newest)
			streams[slot].newest = before;
		record->event = event;
		clock_of(slot, &record->clock);
		clock_reach(&record->clock, slot, before);
	}
	gsb_lock_release(&lock);
}

void gs_causal_event_gone(CUevent event)
{
	struct event *record;

	gsb_lock_acquire(&lock);
	record = event_find(event, false);
	if (record != NULL)
		record->event = NULL;
	gsb_lock_release(&lock);
}

/* NULL: it is not known what it stands for. */
static const struct event *event_known(CUevent event)
{
	if (event == NULL || atomic_load_explicit(&distrusted, memory_order_relaxed))
		return NULL;
	return event_find(event, false);
}

void gs_causal_waits(const struct gs_work_stream *stream, CUevent event, uint64_t when)
{
	const struct event *record;
	unsigned slot;

	gsb_lock_acquire(&lock);
	if (!stream->captured && !full && slot_find(stream, &slot)) {
		if (when > streams[slot].newest)
			streams[slot].newest = when;
		record = event_known(event);
		if (record != NULL)
			clock_join(&streams[slot].clock, &record->clock);
		else
			clock_all(&streams[slot].clock);
	}
	gsb_lock_release(&lock);
}

/* --- the host ---------------------------------------------------------------------------------------------------- */

void gs_causal_event_done(CUevent event, uint64_t before)
{
	const struct event *record;

	gsb_lock_acquire(&lock);
	record = event_known(event);
	if (record != NULL)
		clock_join(&host, &record->clock);
	else
		for (unsigned i = 0; i < STREAMS; i++)
			clock_reach(&host, i, before);
	gsb_lock_release(&lock);
}

void gs_causal_stream_done(const struct gs_work_stream *stream, uint64_t before)
{
	struct clock clock;
	unsigned slot;

	gsb_lock_acquire(&lock);
	if (!full && slot_find(stream, &slot)) {
		if (before > streams[slot].newest)
			streams[slot].newest = before; /* a copy that returns when it is done was work, too */
		clock_of(slot, &clock);
		clock_join(&host, &clock);
		clock_reach(&host, slot, before);
	}
	gsb_lock_release(&lock);
}

void gs_causal_all_done(uint64_t before)
{
	gsb_lock_acquire(&lock);
	for (unsigned i = 0; i < STREAMS; i++)
		clock_reach(&host, i, before);
	gsb_lock_release(&lock);
}

void gs_causal_distrust_events(void)
{
	atomic_store_explicit(&distrusted, true, memory_order_relaxed);
}

void gs_causal_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
