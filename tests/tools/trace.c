/* See trace.h. */
#include "tests/tools/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The life of an id so far. */
struct life {
	uint64_t size_bytes; /* of its block */
	uint8_t next;	     /* enum op_kind: what may come next */
};

struct reader {
	struct trace trace;
	size_t capacity;
	struct life *lives; /* by id */
	size_t life_count;
	char *why;
};

static bool fail(const struct reader *reader, const char *text)
{
	snprintf(reader->why, TRACE_WHY_BYTES, "%s", text);
	return false;
}

/* Makes room for one more element at an index; what is new is zero. */
static bool grow(void **array, size_t *count, size_t index, size_t element_bytes)
{
	size_t wanted = index * 2 + 1024;
	char *grown;

	if (index < *count)
		return true;
	grown = calloc(wanted, element_bytes);
	if (!grown)
		return false;
	if (*count)
		memcpy(grown, *array, *count * element_bytes);
	free(*array);
	*array = grown;
	*count = wanted;
	return true;
}

/* Keeps an operation only if it continues its block's life: allocated, freed, completed. */
static bool add(struct reader *reader, struct op op)
{
	struct trace *trace = &reader->trace;
	struct life *life;

	if (!grow((void **)&reader->lives, &reader->life_count, op.id, sizeof(*reader->lives)) ||
	    !grow((void **)&trace->ops, &reader->capacity, trace->count, sizeof(*trace->ops)))
		return fail(reader, "needs more host memory than there is");
	life = &reader->lives[op.id];
	if (life->next != op.kind)
		return true;
	life->next = op.kind == OP_COMPLETE ? OP_ALLOC : op.kind + 1;
	if (op.kind == OP_ALLOC)
		life->size_bytes = op.size_bytes;
	op.size_bytes = life->size_bytes;
	trace->ops[trace->count++] = op;
	if (op.id >= trace->id_count)
		trace->id_count = op.id + 1;
	if (op.stream >= trace->stream_count)
		trace->stream_count = op.stream + 1u;
	return true;
}

/* One line; false: the trace cannot be used. */
static bool read_line(struct reader *reader, const char *line)
{
	uint64_t size_bytes, stream;
	int64_t id;
	char letter;

	if (sscanf(line, "%c,%" SCNd64 ",%" SCNu64 ",%" SCNu64, &letter, &id, &size_bytes, &stream) != 4 ||
	    (letter != 'a' && letter != 'f' && letter != 'c') || id < 0)
		return true;
	if (stream >= TRACE_STREAMS_MAX || id >= TRACE_IDS_MAX) {
		snprintf(reader->why, TRACE_WHY_BYTES, "has %s %" PRIu64 ": at most %d",
			 stream >= TRACE_STREAMS_MAX ? "stream" : "id",
			 stream >= TRACE_STREAMS_MAX ? stream : (uint64_t)id,
			 (stream >= TRACE_STREAMS_MAX ? TRACE_STREAMS_MAX : TRACE_IDS_MAX) - 1);
		return false;
	}
	return add(reader, (struct op){
			       .size_bytes = size_bytes,
			       .id = (uint32_t)id,
			       .kind = letter == 'a'   ? OP_ALLOC
				       : letter == 'f' ? OP_FREE
						       : OP_COMPLETE,
			       .stream = (uint8_t)stream,
			   });
}

/* The peaks, and which blocks are freed late. */
static void analyse(struct trace *trace)
{
	uint64_t live = 0, pending = 0;

	for (size_t i = 0; i < trace->count; i++) {
		struct op *op = &trace->ops[i];

		if (op->kind == OP_ALLOC) {
			live += op->size_bytes;
		} else if (op->kind == OP_FREE) {
			const struct op *next = op + 1;

			op->late = i + 1 == trace->count || next->kind != OP_COMPLETE || next->id != op->id;
			live -= op->size_bytes;
			pending += op->size_bytes;
		} else {
			pending -= op->size_bytes;
		}
		if (live > trace->peak_live_bytes) {
			trace->peak_live_bytes = live;
			trace->peak_live_index = i;
		}
		if (live + pending > trace->peak_live_pending_bytes) {
			trace->peak_live_pending_bytes = live + pending;
			trace->peak_live_pending_index = i;
		}
	}
}

static bool read_file(struct reader *reader, gzFile file)
{
	char line[256];
	bool begins = true;

	while (gzgets(file, line, sizeof(line))) {
		bool ends = strchr(line, '\n') != NULL;

		if (begins && !read_line(reader, line))
			return false;
		begins = ends;
	}
	if (!gzeof(file))
		return fail(reader, "is damaged");
	return true;
}

bool trace_load(struct trace *ret_trace, const char *path, char why[TRACE_WHY_BYTES])
{
	struct reader reader = {.why = why};
	gzFile file = gzopen(path, "r");
	bool good;

	if (!file)
		return fail(&reader, "cannot be read");
	good = read_file(&reader, file);
	if (gzclose(file) != Z_OK && good)
		good = fail(&reader, "is damaged");
	free(reader.lives);
	if (good && reader.trace.count == 0)
		good = fail(&reader, "has no allocations");
	if (!good) {
		trace_drop(&reader.trace);
		return false;
	}
	analyse(&reader.trace);
	*ret_trace = reader.trace;
	return true;
}

void trace_drop(struct trace *trace)
{
	free(trace->ops);
	*trace = (struct trace){0};
}
