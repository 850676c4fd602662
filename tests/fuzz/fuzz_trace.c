/* The reader of allocation traces: any file is refused with a reason, or gives operations that continue each other. */
#include <string.h>

#include "tests/fuzz/target.h"
#include "tests/tools/trace.h"

static void holds_together(const struct trace *trace)
{
	uint8_t *next = calloc(trace->id_count, 1);
	uint64_t *sizes = calloc(trace->id_count, sizeof(*sizes));

	HOLDS(next != NULL && sizes != NULL && trace->count > 0 && trace->stream_count <= TRACE_STREAMS_MAX);
	for (size_t i = 0; i < trace->count; i++) {
		const struct op *op = &trace->ops[i];

		HOLDS(op->id < trace->id_count && op->stream < trace->stream_count && op->kind == next[op->id]);
		next[op->id] = (op->kind + 1) % 3;
		if (op->kind == OP_ALLOC)
			sizes[op->id] = op->size_bytes;
		HOLDS(op->size_bytes == sizes[op->id]);
	}
	HOLDS(trace->peak_live_index < trace->count && trace->peak_live_pending_index < trace->count);
	free(next);
	free(sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[TRACE_WHY_BYTES] = "";
	struct trace trace;

	if (trace_load(&trace, target_file(data, size), why)) {
		holds_together(&trace);
		trace_drop(&trace);
	} else {
		HOLDS(why[0] != '\0' && strlen(why) < sizeof(why));
	}
	return 0;
}
