/* One operation of a stream: what it does when the simulated device gets to it, what it must wait for, and the byte
 * ranges it will touch.
 *
 * An operation runs when it heads its stream, every point in `after` has been reached and it is `ready`. Its `run` is
 * called `steps` times; all but the last call are time passing. Ranges are recorded at submission, whether or not
 * anything looks at them then. */
#ifndef SIM_OP_H
#define SIM_OP_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cuda.h>

#include "tests/sim/cuda/sim_stack.h"

struct sim_stream;
struct sim_event;

/* "The operation number `seq` of that stream, and all before it, are complete." */
struct sim_point {
	struct sim_stream *stream; /* NULL = nothing to wait for; holds a reference */
	uint64_t seq;
};

struct sim_span {
	uintptr_t start;
	size_t size_bytes;
	bool write;
	/* Its generations: filled in by sim_shadow.c. Whoever copies a span keeps those of the first submission. */
	bool ended;	      /* the announced owner had ended when this was queued */
	bool lost;	      /* memory that it touches has been taken away since */
	uint64_t owner;	      /* the newest announced one of its bytes; 0 = none */
	uint64_t born_before; /* ranges of the driver with this buffer id or a higher one are newer */
	size_t known_bytes;   /* in ranges of the driver; 0 = pageable memory */
};

enum sim_op_kind {
	SIM_OP_COPY,
	SIM_OP_SET,
	SIM_OP_KERNEL,
	SIM_OP_EVENT,
	SIM_OP_WAIT,
	SIM_OP_HOST,
	SIM_OP_ALLOC,
	SIM_OP_FREE,
	SIM_OP_PREFETCH
};

struct sim_op {
	enum sim_op_kind kind;
	uint64_t seq;		/* number within its stream, from 1 */
	unsigned steps;		/* still to run, at least 1 while queued */
	CUresult fails;		/* breaks its context with this error when it runs */
	struct sim_stack stack; /* that submitted it */
	struct sim_op *next;
	struct sim_point *after; /* owned */
	unsigned after_count;
	struct sim_span *spans; /* owned */
	unsigned span_count;
	bool (*ready)(const struct sim_op *op); /* what else it waits for, outside the streams; NULL = nothing */
	bool host_code;				/* the program's code: runs on the host thread of sim_host.c */
	void (*run)(struct sim_op *op);		/* NULL = nothing to do */
	void (*drop)(struct sim_op *op);	/* frees what `payload` owns; may be NULL */
	_Alignas(16) unsigned char payload[];
};

/* A queued-to-be operation with a zeroed payload of its own; never NULL. */
struct sim_op *sim_op_new(enum sim_op_kind kind, size_t payload_bytes);

/* "kernel". */
const char *sim_op_name(const struct sim_op *op);

/* Frees it; for operations that were never submitted and, by the scheduler, after they ran. */
void sim_op_free(struct sim_op *op);

void sim_op_touch(struct sim_op *op, uintptr_t start, size_t size_bytes, bool write);

/* The operation starts only after that point. */
void sim_op_after(struct sim_op *op, struct sim_point point);

#endif
