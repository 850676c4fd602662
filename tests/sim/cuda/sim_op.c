/* Operations: see sim_op.h. */
#include "tests/sim/cuda/sim_op.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_shadow.h"
#include "tests/sim/cuda/sim_stream.h"

static const char *const names[] = {
    [SIM_OP_COPY] = "copy",	   [SIM_OP_SET] = "memset", [SIM_OP_KERNEL] = "kernel",
    [SIM_OP_EVENT] = "event",	   [SIM_OP_WAIT] = "wait",  [SIM_OP_HOST] = "host function",
    [SIM_OP_ALLOC] = "allocation", [SIM_OP_FREE] = "free",  [SIM_OP_PREFETCH] = "prefetch",
};

const char *sim_op_name(const struct sim_op *op)
{
	return names[op->kind];
}

struct sim_op *sim_op_new(enum sim_op_kind kind, size_t payload_bytes)
{
	struct sim_op *op = calloc(1, sizeof(*op) + payload_bytes);

	if (!op)
		abort();
	op->kind = kind;
	op->steps = 1;
	sim_stack_take(&op->stack);
	return op;
}

void sim_op_free(struct sim_op *op)
{
	if (op->drop)
		op->drop(op);
	for (unsigned i = 0; i < op->after_count; i++)
		sim_stream_put(op->after[i].stream);
	free(op->after);
	free(op->spans);
	free(op);
}

void sim_op_touch(struct sim_op *op, uintptr_t start, size_t size_bytes, bool write)
{
	if (size_bytes == 0)
		return;
	op->spans = realloc(op->spans, (op->span_count + 1) * sizeof(*op->spans));
	if (!op->spans)
		abort();
	op->spans[op->span_count] = (struct sim_span){.start = start, .size_bytes = size_bytes, .write = write};
	sim_shadow_note(&op->spans[op->span_count++]);
}

void sim_op_after(struct sim_op *op, struct sim_point point)
{
	if (sim_point_reached(point))
		return;
	op->after = realloc(op->after, (op->after_count + 1) * sizeof(*op->after));
	if (!op->after)
		abort();
	op->after[op->after_count++] = (struct sim_point){sim_stream_get(point.stream), point.seq};
}
