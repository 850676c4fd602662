/* An allocation trace of a real program, read into memory.
 *
 * A trace has lines `op,id,bytes,stream`: a = allocate, f = free requested, c = free completed; other lines are
 * skipped, and so is what does not continue the life of its block. */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_STREAMS_MAX = 64, TRACE_IDS_MAX = 1 << 24, TRACE_WHY_BYTES = 200 };

enum op_kind { OP_ALLOC, OP_FREE, OP_COMPLETE };

struct op {
	uint64_t size_bytes;
	uint32_t id;
	uint8_t kind;	/* enum op_kind */
	uint8_t stream; /* index into streams */
	bool late;	/* of OP_FREE: its completion is not the very next line */
};

struct trace {
	struct op *ops;
	size_t count;
	uint32_t id_count; /* ids are below it */
	unsigned stream_count;
	uint64_t peak_live_bytes;
	uint64_t peak_live_pending_bytes;
	size_t peak_live_index; /* the operation after which it is reached */
	size_t peak_live_pending_index;
};

/* Reads a file, plain or gzipped, with at least one operation. False: why says what is wrong with it ("is damaged"),
 * and ret_trace is as it was. */
bool trace_load(struct trace *ret_trace, const char *path, char why[TRACE_WHY_BYTES]);
void trace_drop(struct trace *trace);

#endif
