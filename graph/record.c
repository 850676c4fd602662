/* See record.h. */
#include "graph/record.h"

#include <string.h>

#include "graph/trace.h"
#include "shim/base/os.h"

#define PAGES_BYTES (8u << 20)
#define PLACES_APART 1024u
#define TRACE_BYTES (1u << 20) /* of the launches of one trace: they wait in the queue's ring until all are there */

/* Whole periods, and whole exact periods if possible; otherwise an even number, for arguments that alternate. */
static uint32_t length_of(uint32_t period, uint32_t exact_period, uint32_t chunk)
{
	uint32_t times = chunk / period;

	if (exact_period != 0 && exact_period % period == 0 && exact_period <= chunk)
		return chunk / exact_period * exact_period;
	return times < 2 ? period : (times & ~1u) * period;
}

bool gsg_recording_begin(struct gsg_recording *recording, const struct gsg_watch *watch, uint32_t exact_period, bool has_first,
			 uint32_t chunk)
{
	if (recording->pages == NULL)
		recording->pages = gsb_os_pages_map(PAGES_BYTES);
	if (recording->pages == NULL)
		return false;
	recording->state = has_first ? GSG_RECORDING_AWAITS_FIRST : GSG_RECORDING_ON;
	recording->watch = watch;
	recording->period = watch->period;
	recording->run = watch->run;
	recording->length = has_first ? watch->period : length_of(watch->period, exact_period, chunk);
	recording->count = 0;
	recording->cut = 0;
	recording->used_bytes = 0;
	return true;
}

/* With what comes before the period: the end of it. */
static uint64_t place_at(const struct gsg_recording *recording, uint32_t start)
{
	uint64_t place = 0;

	for (uint32_t i = 0; i < GSG_PLACE; i++) {
		uint32_t back = (GSG_PLACE - 1 - i) % recording->count;

		place = gsg_place_push(place, recording->tokens[(start + recording->count - back) % recording->count], 0);
	}
	return place;
}

/* The last becomes the first. */
static void turn_round(struct gsg_recording *recording, uint32_t start, uint32_t end)
{
	for (; start + 1 < end; start++, end--) {
		const struct gsg_launch *launch = recording->launches[start];
		uint64_t token = recording->tokens[start];
		bool first = recording->first[start];

		recording->launches[start] = recording->launches[end - 1];
		recording->tokens[start] = recording->tokens[end - 1];
		recording->first[start] = recording->first[end - 1];
		recording->launches[end - 1] = launch;
		recording->tokens[end - 1] = token;
		recording->first[end - 1] = first;
	}
}

/* At the first place that looks like no other one of the period. */
static void begin_apart(struct gsg_recording *recording)
{
	uint16_t alike[PLACES_APART] = {0};
	uint32_t start = 0;

	for (uint32_t i = 0; i < recording->period; i++)
		alike[place_at(recording, i) % PLACES_APART]++;
	while (start < recording->period && alike[place_at(recording, start) % PLACES_APART] != 1)
		start++;
	if (start == recording->period)
		return;
	turn_round(recording, 0, start);
	turn_round(recording, start, recording->count);
	turn_round(recording, 0, recording->count);
}

void gsg_recording_take(struct gsg_recording *recording, const struct gsg_launch *launch, uint64_t token, bool first)
{
	const struct gsg_watch *watch = recording->watch;
	uint32_t size_bytes = launch->head.size_bytes;

	if (watch->period != recording->period || watch->run <= recording->run ||
	    size_bytes > PAGES_BYTES - recording->used_bytes) {
		recording->state = GSG_RECORDING_OFF;
		return;
	}
	recording->run = watch->run;
	if (recording->state == GSG_RECORDING_AWAITS_FIRST && !first)
		return;
	recording->state = GSG_RECORDING_ON;
	recording->launches[recording->count] = memcpy(recording->pages + recording->used_bytes, launch, size_bytes);
	recording->tokens[recording->count] = token;
	recording->first[recording->count] = first;
	recording->used_bytes += size_bytes;
	if (++recording->count < recording->length)
		return;
	recording->state = GSG_RECORDING_DONE;
	if (!recording->first[0])
		begin_apart(recording);
}

/* --- cutting ------------------------------------------------------------------------------------------------------- */

static bool is_plain(const struct gsg_launch *launch)
{
	return (launch->shape.flags & GSG_SHAPE_PLAIN) != 0;
}

/* Launches from there on that may be in one graph; 0 where there is one that may not. */
static uint32_t stretch(const struct gsg_recording *recording, uint32_t start)
{
	uint32_t end = start;

	while (end < recording->count && !is_plain(recording->launches[end]) &&
	       (end == start || !recording->first[end]))
		end++;
	return end - start;
}

/* The first part of a stretch that is cut into parts of about the same length. */
static uint32_t part(const struct gsg_recording *recording, uint32_t start, uint32_t length, uint32_t chunk)
{
	uint32_t parts = (length + chunk - 1) / chunk, count = 0;
	size_t size_bytes = 0;

	length = (length + parts - 1) / parts;
	while (count < length) {
		size_bytes += recording->launches[start + count]->head.size_bytes;
		if (size_bytes > TRACE_BYTES)
			break;
		count++;
	}
	return count;
}

uint32_t gsg_recording_cut(struct gsg_recording *recording, uint32_t chunk, uint32_t *ret_start, uint64_t *ret_place)
{
	while (recording->cut < recording->count) {
		uint32_t start = recording->cut, length = stretch(recording, start);

		if (length < GSG_TRACE_LEAST) {
			recording->cut += length + (length == 0);
			continue;
		}
		length = part(recording, start, length, chunk);
		recording->cut += length;
		*ret_start = start;
		*ret_place = place_at(recording, start);
		return length;
	}
	recording->state = GSG_RECORDING_OFF;
	return 0;
}
