/* Logs of RMM: comma-separated, one allocation or free a line, columns by the names in the first line. They have no stacks; what is
 * alive at the end becomes a segment of its own each. */
#include <stdlib.h>
#include <string.h>

#include "report/import.h"
#include "shim/base/err.h"

enum { THREAD, TIME, ACTION, POINTER, SIZE, STREAM, COLUMNS };
static const char *const column_names[COLUMNS] = {"Thread", "Time", "Action", "Pointer", "Size", "Stream"};

#define DAY_NS (86400ull * 1000000000)

struct field {
	const char *start;
	size_t length;
};

struct importing {
	struct gsr_build build;
	const char *at, *end; /* of the text */
	int place[COLUMNS];   /* of each column in a line; -1 = none */
	int place_count;
	struct gsr_map row_of; /* what is alive: address -> row of events + 1 */
	uint64_t start_ns, before_ns, last_ns, day_ns, lost;
	const char *why;
};

static int fail(struct importing *importing, const char *why)
{
	importing->why = why;
	return -1;
}

/* The fields of a line by their places; a line that is too short has empty ones. Passes over its end. */
static void line_read(struct importing *importing, struct field *fields, int count)
{
	const char *end = memchr(importing->at, '\n', (size_t)(importing->end - importing->at)), *at = importing->at;

	end = end != NULL ? end : importing->end;
	importing->at = end < importing->end ? end + 1 : end;
	if (end > at && end[-1] == '\r')
		end--;
	for (int i = 0; i < count; i++) {
		const char *comma = memchr(at, ',', (size_t)(end - at));

		fields[i].start = at;
		fields[i].length = (size_t)((comma != NULL ? comma : end) - at);
		at = comma != NULL ? comma + 1 : end;
	}
}

static bool field_is(const struct field *field, const char *text)
{
	return field->length == strlen(text) && memcmp(field->start, text, field->length) == 0;
}

/* Decimal, or hexadecimal after 0x. false: it is no number. */
static bool number_read(const struct field *field, uint64_t *ret_number)
{
	char text[40], *end;

	if (field->length == 0 || field->length >= sizeof(text) || field->start[0] == '-')
		return false;
	memcpy(text, field->start, field->length);
	text[field->length] = '\0';
	*ret_number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
	return *end == '\0';
}

/* "14:21:19.998533", with a colon before the microseconds in early versions, or seconds since 1970. */
static bool time_read(const struct field *field, uint64_t *ret_ns)
{
	char text[40], fraction[10] = "000000000", *end;
	unsigned long long parts[3];
	unsigned count = 0;

	if (field->length == 0 || field->length >= sizeof(text))
		return false;
	memcpy(text, field->start, field->length);
	text[field->length] = '\0';
	for (end = text; count < 3; count++) {
		if (*end < '0' || *end > '9')
			return false;
		parts[count] = strtoull(end, &end, 10);
		if (*end != ':' || count == 2) {
			count++;
			break;
		}
		end++;
	}
	if ((count != 1 && count != 3) || (count == 3 && (parts[0] > 24 || parts[1] > 60 || parts[2] > 61)) ||
	    (count == 1 && parts[0] > UINT32_MAX))
		return false;
	if (*end == '.' || *end == ':') {
		size_t digits = strspn(end + 1, "0123456789");

		memcpy(fraction, end + 1, digits < 9 ? digits : 9);
		end += 1 + digits;
	}
	*ret_ns = (count == 1 ? parts[0] : parts[0] * 3600 + parts[1] * 60 + parts[2]) * 1000000000 + strtoull(fraction, NULL, 10);
	return *end == '\0';
}

static int head_read(struct importing *importing)
{
	struct field fields[16];

	line_read(importing, fields, 16);
	for (int column = 0; column < COLUMNS; column++) {
		importing->place[column] = -1;
		for (int i = 0; i < 16; i++)
			if (field_is(&fields[i], column_names[column]))
				importing->place[column] = i;
		if (importing->place[column] < 0 && column != THREAD && column != STREAM)
			return fail(importing, "a column is missing: a log of RMM has Time, Action, Pointer and Size");
		if (importing->place[column] >= importing->place_count)
			importing->place_count = importing->place[column] + 1;
	}
	return 0;
}

static void event_make(struct importing *importing, const char *type, uint64_t time_ns, const uint64_t *numbers)
{
	struct gsr_model *model = &importing->build.model;
	size_t row = gsr_build_row(&importing->build, GS_SNAP_TABLE_events);

	GSR_CELL(model, events, type, row) = gsr_build_name(&importing->build, GS_SNAP_TABLE_events, GS_SNAP_events_type, type);
	GSR_CELL(model, events, time_delta_ns, row) = time_ns - importing->before_ns;
	GSR_CELL(model, events, address, row) = numbers[POINTER];
	GSR_CELL(model, events, size_bytes, row) = numbers[SIZE];
	GSR_CELL(model, events, stream, row) = numbers[STREAM];
	GSR_CELL(model, events, thread, row) = numbers[THREAD];
	importing->before_ns = time_ns;
}

static void allocation_note(struct importing *importing, const uint64_t *numbers, bool begins)
{
	uint64_t row;

	if (!gsr_map_take(&importing->row_of, numbers[POINTER], &row) && !begins)
		importing->lost++;
	if (begins)
		gsr_map_put(&importing->row_of, numbers[POINTER], GSR_ROWS(&importing->build.model, events));
}

static int row_read(struct importing *importing)
{
	struct field fields[16], empty = {"", 0};
	const struct field *of[COLUMNS];
	uint64_t numbers[COLUMNS] = {0}, time_ns;
	const char *type;

	line_read(importing, fields, importing->place_count);
	for (int column = 0; column < COLUMNS; column++)
		of[column] = importing->place[column] < 0 ? &empty : &fields[importing->place[column]];
	if (fields[0].length == 0 && of[ACTION]->length == 0)
		return 0; /* an empty line */
	type = field_is(of[ACTION], "allocate")							? "alloc"
	       : field_is(of[ACTION], "free") || field_is(of[ACTION], "deallocate") ? "free"
	       : field_is(of[ACTION], "allocate failure")						? "oom"
												: NULL;
	if (type == NULL)
		return fail(importing, "an action that is not known");
	if (!time_read(of[TIME], &time_ns))
		return fail(importing, "no time");
	number_read(of[POINTER], &numbers[POINTER]); /* of a failure there is none */
	number_read(of[THREAD], &numbers[THREAD]);
	number_read(of[STREAM], &numbers[STREAM]); /* or "default" */
	if (!number_read(of[SIZE], &numbers[SIZE]) || numbers[SIZE] >= GSR_COUNT_MAX)
		return fail(importing, "no size");
	if (numbers[POINTER] == 0 && strcmp(type, "oom") != 0)
		return fail(importing, "no pointer");
	numbers[THREAD] %= GSR_COUNT_MAX;
	numbers[STREAM] %= GSR_COUNT_MAX;
	if (GSR_ROWS(&importing->build.model, events) == 0)
		importing->start_ns = importing->before_ns = importing->last_ns = time_ns;
	time_ns += importing->day_ns;
	if (time_ns + DAY_NS / 2 < importing->before_ns) { /* past midnight */
		importing->day_ns += DAY_NS;
		time_ns += DAY_NS;
	}
	if (time_ns + 100 * DAY_NS < importing->start_ns || time_ns > importing->start_ns + 100 * DAY_NS)
		return fail(importing, "a time that is far from the first one");
	importing->last_ns = time_ns > importing->last_ns ? time_ns : importing->last_ns;
	event_make(importing, type, time_ns, numbers);
	if (strcmp(type, "oom") != 0)
		allocation_note(importing, numbers, strcmp(type, "alloc") == 0);
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct gsr_map_slot *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static void live_make(struct importing *importing)
{
	struct gsr_model *model = &importing->build.model;
	const struct gsr_map *map = &importing->row_of;
	struct gsr_map_slot *slots = calloc(map->count + 1, sizeof(*slots));
	int64_t *times = calloc(GSR_ROWS(model, events) + 1, sizeof(*times)), time_ns = 0;
	size_t count = 0;

	if (slots == NULL || times == NULL)
		abort();
	for (size_t row = 0; row < GSR_ROWS(model, events); row++)
		times[row] = time_ns += (int64_t)GSR_CELL(model, events, time_delta_ns, row);
	for (size_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].used)
			slots[count++] = map->slots[i];
	qsort(slots, count, sizeof(*slots), by_address);
	for (size_t i = 0; i < count; i++) {
		size_t segment = gsr_build_row(&importing->build, GS_SNAP_TABLE_segments), event = slots[i].value - 1;
		size_t block = gsr_build_row(&importing->build, GS_SNAP_TABLE_blocks);

		GSR_CELL(model, segments, address, segment) = GSR_CELL(model, blocks, address, block) = slots[i].key;
		GSR_CELL(model, segments, size_bytes, segment) = GSR_CELL(model, events, size_bytes, event);
		GSR_CELL(model, blocks, segment, block) = segment;
		GSR_CELL(model, blocks, size_bytes, block) = GSR_CELL(model, events, size_bytes, event);
		GSR_CELL(model, blocks, reserved_bytes, block) = GSR_CELL(model, events, size_bytes, event);
		GSR_CELL(model, blocks, stream, block) = GSR_CELL(model, events, stream, event);
		GSR_CELL(model, blocks, thread, block) = GSR_CELL(model, events, thread, event);
		GSR_CELL(model, blocks, time_ns, block) = (uint64_t)times[event];
		GSR_CELL(model, blocks, serial, block) = event + 1;
	}
	free(slots);
	free(times);
}

int gsr_import_rmm(const char *bytes, size_t length, struct gsr_model *ret_model, size_t *ret_error_at, const char **ret_why)
{
	struct importing importing = {.at = bytes, .end = bytes + length};
	const char *line = bytes;
	int error;

	gsr_build_begin(&importing.build, "(log of RMM)");
	gsr_build_device(&importing.build, 0);
	error = head_read(&importing);
	while (error == 0 && importing.at < importing.end) {
		line = importing.at;
		error = row_read(&importing);
	}
	if (error != 0) {
		*ret_error_at = (size_t)(line - bytes);
		*ret_why = importing.why;
		gsr_build_drop(&importing.build);
		gsr_map_drop(&importing.row_of);
		return GS_E_INVALID;
	}
	live_make(&importing);
	gsr_build_end(&importing.build, importing.start_ns, importing.last_ns - importing.start_ns, importing.lost, ret_model);
	gsr_map_drop(&importing.row_of);
	return 0;
}
