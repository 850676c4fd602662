/* gpushim-report recover: a snapshot of what a killed process left in its ring file.
 *
 * Of segments only what lies under live blocks is known: each block is a segment of its own. Peaks are not known either;
 * they are given as what was alive. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/json_text.h"
#include "report/output.h"
#include "report/ring_read.h"
#include "shim/base/err.h"

static void key(FILE *out, const char *name)
{
	fprintf(out, ",\"%s\":", name);
}

static void text_key(FILE *out, const char *name, const char *text)
{
	key(out, name);
	gsr_out_text(out, text);
}

/* What JSON holds exactly; nothing that is true comes near it. */
#define EXACT(value) ((value) & (((uint64_t)1 << 53) - 1))

static int64_t between(uint64_t time_ns, uint64_t before_ns)
{
	int64_t passed_ns = (int64_t)(time_ns - before_ns);

	return passed_ns > -(1ll << 53) && passed_ns < 1ll << 53 ? passed_ns : 0;
}

static int64_t since(const struct gsr_ring *file, uint64_t time_ns)
{
	return between(time_ns, file->header->start_monotonic_ns);
}

static uint64_t last_ns(const struct gsr_ring *file)
{
	uint64_t last = file->header->start_monotonic_ns;

	for (size_t i = 0; i < file->event_count; i++)
		if (file->events[i * GS_RING_EVENT_WORDS] > last)
			last = file->events[i * GS_RING_EVENT_WORDS];
	return last;
}

static void meta_write(FILE *out, const struct gsr_ring *file)
{
	const struct gs_ring_header *header = file->header;
	uint64_t elapsed_ns = EXACT(last_ns(file) - header->start_monotonic_ns);

	fputs("{\"schema\":1,\n\"meta\":{\"reason\":\"killed\"", out);
	text_key(out, "version", header->program);
	fprintf(out, ",\"pid\":%u,\"ppid\":%u,\"rank\":", header->pid, header->ppid);
	if (header->rank >= 0 && header->rank < INT32_MAX)
		fprintf(out, "%" PRId64, header->rank);
	else
		fputs("null", out);
	text_key(out, "hostname", header->hostname);
	text_key(out, "executable", header->executable);
	fputs(",\"command\":[", out);
	gsr_out_text(out, header->executable);
	fputs("]", out);
	text_key(out, "folder", header->folder);
	fprintf(out,
		",\"start_wall_ns\":\"%" PRIu64 "\",\"dump_wall_ns\":\"%" PRIu64 "\",\"monotonic_base_ns\":\"%" PRIu64
		"\",\"elapsed_ns\":%" PRIu64,
		header->start_wall_ns, header->start_wall_ns + elapsed_ns, header->start_monotonic_ns, elapsed_ns);
	text_key(out, "conf", header->conf);
	fprintf(out, ",\"settings\":{\"history\":%" PRIu64 "}}", header->event_slots);
	fprintf(out,
		",\n\"recording\":{\"python\":\"unknown\",\"native\":\"unknown\",\"stack_captures\":0,\"native_walks\":0,"
		"\"stacks_cut\":%" PRIu64 ",\"live_dropped\":%" PRIu64 ",\"events_added\":%" PRIu64
		",\"events_dropped\":%" PRIu64 "}",
		EXACT(atomic_load(&header->texts_lost)), EXACT(atomic_load(&header->live_lost) + file->torn), file->event_end,
		file->event_end - file->event_count);
}

static bool in_class(const struct gsr_ring *file, size_t row, unsigned live_class, unsigned device)
{
	return file->alive[row].live_class == live_class && file->alive[row].device == device;
}

static uint64_t sum_of(const struct gsr_ring *file, unsigned live_class, unsigned device, size_t *ret_count)
{
	uint64_t bytes = 0;

	*ret_count = 0;
	for (size_t i = 0; i < file->alive_count; i++)
		if (in_class(file, i, live_class, device)) {
			bytes += file->alive[i].size_bytes;
			++*ret_count;
		}
	return bytes;
}

static void uuid_write(FILE *out, const unsigned char uuid[16])
{
	fputs("\"GPU-", out);
	for (unsigned i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	fputs("\"", out);
}

static void gauge_write(FILE *out, const char *before, const char *name, uint64_t value)
{
	fprintf(out, "%s\"%s\":{\"now\":%" PRIu64 ",\"peak\":%" PRIu64 "}", before, name, value, value);
}

static void devices_write(FILE *out, const struct gsr_ring *file)
{
	const char *before = "";

	fputs(",\n\"devices\":[", out);
	for (unsigned ordinal = 0; ordinal < GS_RING_DEVICES; ordinal++) {
		const struct gs_ring_device *device = &file->header->devices[ordinal];
		size_t count;
		uint64_t bytes = sum_of(file, GS_RING_BLOCK, ordinal, &count);

		if (atomic_load(&device->known) == 0 || !gsr_ring_ends(device->name, sizeof(device->name)))
			continue;
		fprintf(out, "%s{\"ordinal\":%u,\"uuid\":", before, ordinal);
		uuid_write(out, device->uuid);
		text_key(out, "name", device->name);
		fprintf(out, ",\"total_bytes\":%" PRIu64 ",\"gauges\":{", EXACT(device->total_bytes));
		gauge_write(out, "", "allocated_bytes", bytes);
		gauge_write(out, ",", "reserved_bytes", bytes);
		gauge_write(out, ",", "live_count", count);
		fputs("},\"counters\":{}}", out);
		before = ",";
	}
	fputs("]", out);
}

static void totals_write(FILE *out, const struct gsr_ring *file)
{
	const char *before = "";

	fputs(",\n\"live_totals\":[", out);
	for (unsigned which = 0; which < file->header->class_count; which++)
		for (unsigned device = 0; device < 256; device++) {
			size_t count;
			uint64_t bytes = sum_of(file, GS_RING_LIVE + which, device, &count);

			if (count == 0)
				continue;
			fprintf(out,
				"%s{\"class\":\"%s\",\"device\":%u,\"bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
				",\"count\":%zu,\"peak_count\":%zu,\"total_count\":%zu}",
				before, file->header->classes[which], device, bytes, bytes, count, count, count);
			before = ",";
		}
	fputs("],\n\"functions\":[],\n\"threads\":[],\n\"errors\":[],\n\"submit\":[],\n\"graph\":[]", out);
}

/* One column: `print` writes a row; rows for which it returns false are left out. */
static void column(FILE *out, const char *before, const char *name, const struct gsr_ring *file, size_t rows,
		   bool (*print)(FILE *out, const struct gsr_ring *file, size_t row, bool first))
{
	bool first = true;

	fprintf(out, "%s\"%s\":[", before, name);
	for (size_t row = 0; row < rows; row++)
		if (print(out, file, row, first))
			first = false;
	fputs("]", out);
}

#define COLUMN(name, rows_are, format, ...)                                                                            \
	static bool name(FILE *out, const struct gsr_ring *file, size_t row, bool first)                              \
	{                                                                                                              \
		const struct gsr_alive *alive = &file->alive[row];                                                         \
                                                                                                                       \
		if (!(rows_are))                                                                                       \
			return false;                                                                                  \
		fprintf(out, "%s" format, first ? "" : ",", __VA_ARGS__);                                              \
		return true;                                                                                           \
	}
#define IS_BLOCK (alive->live_class == GS_RING_BLOCK)
#define IS_OTHER (alive->live_class >= GS_RING_LIVE)

COLUMN(block_device, IS_BLOCK, "%u", alive->device)
COLUMN(block_zero, IS_BLOCK, "%d", 0)
COLUMN(block_hex_zero, IS_BLOCK, "\"%d\"", 0)
COLUMN(block_address, IS_BLOCK, "\"%" PRIx64 "\"", alive->address)
COLUMN(block_size, IS_BLOCK, "%" PRIu64, alive->size_bytes)
COLUMN(block_origin, IS_BLOCK, "%d", alive->stream != 0)
COLUMN(block_stream, IS_BLOCK, "%" PRIu64, EXACT(alive->stream))
COLUMN(block_stack, IS_BLOCK, "%" PRIu64, gsr_ring_known(file, GS_RING_NODE, alive->stack))
COLUMN(block_thread, IS_BLOCK, "%u", alive->thread)
COLUMN(block_time, IS_BLOCK, "%" PRId64, since(file, alive->time_ns))
COLUMN(live_class, IS_OTHER, "%u", alive->live_class - GS_RING_LIVE)
COLUMN(live_device, IS_OTHER, "%u", alive->device)
COLUMN(live_address, IS_OTHER, "\"%" PRIx64 "\"", alive->address)
COLUMN(live_size, IS_OTHER, "%" PRIu64, alive->size_bytes)
COLUMN(live_stack, IS_OTHER, "%" PRIu64, gsr_ring_known(file, GS_RING_NODE, alive->stack))
COLUMN(live_thread, IS_OTHER, "%u", alive->thread)
COLUMN(live_time, IS_OTHER, "%" PRId64, since(file, alive->time_ns))
COLUMN(live_owner, IS_OTHER, "\"%d\"", 0)

/* The number of the block, which is that of its segment. */
static void segments_number(FILE *out, const struct gsr_ring *file)
{
	size_t number = 0;

	for (size_t row = 0; row < file->alive_count; row++)
		if (file->alive[row].live_class == GS_RING_BLOCK) {
			fprintf(out, "%s%zu", number > 0 ? "," : "", number);
			number++;
		}
}

static void memory_write(FILE *out, const struct gsr_ring *file)
{
	size_t rows = file->alive_count;

	fputs(",\n\"segments\":{\"kind_names\":[\"fixed\"],", out);
	column(out, "", "device", file, rows, block_device);
	column(out, ",", "kind", file, rows, block_zero);
	column(out, ",", "address", file, rows, block_address);
	column(out, ",", "size_bytes", file, rows, block_size);
	fputs("},\n\"blocks\":{\"state_names\":[\"live\"],\"origin_names\":[\"legacy\",\"async\"],\"segment\":[", out);
	segments_number(out, file);
	fputs("]", out);
	column(out, ",", "address", file, rows, block_address);
	column(out, ",", "size_bytes", file, rows, block_size);
	column(out, ",", "reserved_bytes", file, rows, block_size);
	column(out, ",", "state", file, rows, block_zero);
	column(out, ",", "origin", file, rows, block_origin);
	column(out, ",", "stream", file, rows, block_stream);
	column(out, ",", "pool", file, rows, block_hex_zero);
	column(out, ",", "owner", file, rows, block_hex_zero);
	column(out, ",", "stack", file, rows, block_stack);
	column(out, ",", "thread", file, rows, block_thread);
	column(out, ",", "time_ns", file, rows, block_time);
	column(out, ",", "serial", file, rows, block_zero);
	fputs("},\n\"live\":{\"class_names\":[", out);
	for (unsigned which = 0; which < file->header->class_count; which++)
		fprintf(out, "%s\"%s\"", which > 0 ? "," : "", file->header->classes[which]);
	fputs("]", out);
	column(out, ",", "class", file, rows, live_class);
	column(out, ",", "device", file, rows, live_device);
	column(out, ",", "address", file, rows, live_address);
	column(out, ",", "size_bytes", file, rows, live_size);
	column(out, ",", "stack", file, rows, live_stack);
	column(out, ",", "thread", file, rows, live_thread);
	column(out, ",", "time_ns", file, rows, live_time);
	column(out, ",", "owner", file, rows, live_owner);
	fputs("}", out);
}

enum { TIME, ADDRESS, SIZE, STREAM, STACK_THREAD, TYPE_DEVICE };

static uint64_t word_of(const struct gsr_ring *file, size_t row, unsigned word)
{
	return file->events[row * GS_RING_EVENT_WORDS + word];
}

#define EVENTS(name, format, value)                                                                                    \
	fprintf(out, ",\"%s\":[", name);                                                                               \
	for (size_t row = 0; row < file->event_count; row++)                                                           \
		fprintf(out, "%s" format, row > 0 ? "," : "", value);                                                  \
	fputs("]", out);
#define WORD(word) word_of(file, row, word)

static void events_write(FILE *out, const struct gsr_ring *file)
{
	fputs(",\n\"events\":{\"type_names\":[", out);
	for (unsigned type = 0; type < file->header->type_count; type++)
		fprintf(out, "%s\"%s\"", type > 0 ? "," : "", file->header->types[type]);
	fputs("]", out);
	EVENTS("type", "%" PRIu64, WORD(TYPE_DEVICE) & 0xff)
	EVENTS("time_delta_ns", "%" PRId64,
	       row > 0 ? between(WORD(TIME), word_of(file, row - 1, TIME)) : since(file, WORD(TIME)))
	EVENTS("device", "%" PRIu64, WORD(TYPE_DEVICE) >> 8 & 0xff)
	EVENTS("address", "\"%" PRIx64 "\"", WORD(ADDRESS))
	EVENTS("size_bytes", "%" PRIu64, EXACT(WORD(SIZE)))
	EVENTS("stream", "%" PRIu64, EXACT(WORD(STREAM)))
	EVENTS("stack", "%" PRIu64, gsr_ring_known(file, GS_RING_NODE, WORD(STACK_THREAD) & UINT32_MAX))
	EVENTS("thread", "%" PRIu64, WORD(STACK_THREAD) >> 32)
	fputs("}", out);
}

#define RECORDS(before, name, which, format, value)                                                                    \
	fprintf(out, "%s\"%s\":[", before, name);                                                                      \
	for (size_t row = 0; row < file->record_count[which]; row++) {                                                 \
		const struct gs_ring_record *record = file->records[which][row];                                       \
                                                                                                                       \
		fprintf(out, "%s" format, row > 0 ? "," : "", value);                                                  \
	}                                                                                                              \
	fputs("]", out);

#define NATIVE 2u /* kind of frame */

static bool is_native(const struct gs_ring_record *frame)
{
	return frame->numbers[0] == NATIVE;
}

static void stacks_write(FILE *out, const struct gsr_ring *file)
{
	fputs(",\n\"stacks\":{", out);
	RECORDS("", "parent", GS_RING_NODE, "%u", record->numbers[0] < row ? record->numbers[0] : 0)
	RECORDS(",", "frame", GS_RING_NODE, "%" PRIu64, gsr_ring_known(file, GS_RING_FRAME, record->numbers[1]))
	fputs("},\n\"frames\":{\"kind_names\":[\"none\",\"python\",\"native\"]", out);
	RECORDS(",", "kind", GS_RING_FRAME, "%u", record->numbers[0] <= NATIVE ? record->numbers[0] : 0)
	RECORDS(",", "function", GS_RING_FRAME, "%" PRIu64,
		is_native(record) ? (uint64_t)0 : gsr_ring_known(file, GS_RING_STRING, record->numbers[1]))
	RECORDS(",", "file", GS_RING_FRAME, "%" PRIu64,
		is_native(record) ? (uint64_t)0 : gsr_ring_known(file, GS_RING_STRING, record->numbers[2]))
	RECORDS(",", "line", GS_RING_FRAME, "%u", record->numbers[3])
	RECORDS(",", "module", GS_RING_FRAME, "%" PRIu64,
		is_native(record) ? gsr_ring_known(file, GS_RING_MODULE, record->numbers[2]) : (uint64_t)0)
	RECORDS(",", "offset", GS_RING_FRAME, "\"%" PRIx64 "\"", record->words[0])
	fputs("},\n\"modules\":{", out);
	RECORDS("", "path", GS_RING_MODULE, "%" PRIu64, gsr_ring_known(file, GS_RING_STRING, record->numbers[0]))
	RECORDS(",", "build_id", GS_RING_MODULE, "%" PRIu64, gsr_ring_known(file, GS_RING_STRING, record->numbers[1]))
	RECORDS(",", "base", GS_RING_MODULE, "\"%" PRIx64 "\"", record->words[0])
	RECORDS(",", "start", GS_RING_MODULE, "\"%" PRIx64 "\"", record->words[1])
	RECORDS(",", "end", GS_RING_MODULE, "\"%" PRIx64 "\"", record->words[2])
	fputs("},\n\"strings\":[", out);
	for (size_t row = 0; row < file->record_count[GS_RING_STRING]; row++) {
		const struct gs_ring_record *record = file->records[GS_RING_STRING][row];

		fputs(row > 0 ? "," : "", out);
		gsr_out_bytes(out, (const char *)(record + 1), record->bytes);
	}
	fputs("]}\n", out);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

/* Beside the file: gpushim.4711.ring becomes gpushim.4711.killed.json. */
static char *name_for(const char *path)
{
	size_t length = strlen(path);
	char *name = malloc(length + sizeof(".killed.json"));

	if (name == NULL)
		abort();
	if (length > 5 && strcmp(path + length - 5, ".ring") == 0)
		length -= 5;
	memcpy(name, path, length);
	strcpy(name + length, ".killed.json");
	return name;
}

/* To standard output. */
static void snapshot_write(const struct gsr_ring *file)
{
	meta_write(stdout, file);
	devices_write(stdout, file);
	totals_write(stdout, file);
	memory_write(stdout, file);
	events_write(stdout, file);
	stacks_write(stdout, file);
}

/* Beside the ring file; as closed to others as it is. */
static int snapshot_make(const char *path, const struct gsr_ring *file, const struct gsr_options *options)
{
	char *name = name_for(path), *input = (char *)path;
	int status = GSR_UNUSABLE;

	if (gsr_output_open(name, options->force, gsr_output_mode(&input, 1) & 0600) == 0) {
		snapshot_write(file);
		status = gsr_output_close(GSR_FINE);
	}
	if (status == GSR_FINE)
		gsr_name_print("snapshot", name, options);
	free(name);
	return status;
}

int gsr_recover(const char *path, const struct gsr_options *options)
{
	static bool written;
	struct gsr_ring file;
	int status = GSR_UNUSABLE;

	if (gsr_ring_read(path, &file) == 0) {
		if (options->output == NULL) {
			status = snapshot_make(path, &file, options);
		} else if (written) {
			fprintf(stderr, "gpushim-report: %s: one snapshot a file; without -o each gets its own\n", path);
		} else {
			snapshot_write(&file);
			written = true;
			status = GSR_FINE;
		}
	}
	gsr_ring_drop(&file);
	return status;
}
