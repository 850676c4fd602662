/* The thread that runs the host functions of streams, one at a time, and queued work when the program is idle. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "tests/sim/cuda/sim_call.h"

struct sim_ctx;
struct sim_op;
struct sim_stream;

/* Makes the thread, once. */
void sim_host_start(void);

/* Hands the head operation of the stream, a host function, to the thread; the stream is `running` until it is done.
 * False when the thread is busy with another one. */
bool sim_host_begin(struct sim_stream *stream);

/* The operation that calls the function. */
struct sim_op *sim_host_op(CUhostFn function, void *data, struct sim_ctx *ctx);

/* The thread calls the function when it next gets to it. */
void sim_host_defer(CUhostFn function, void *data);

#endif
