/* The thread that runs the host functions of streams, one at a time, and queued work when the program is idle. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>

struct sim_stream;

/* Makes the thread, once. */
void sim_host_start(void);

/* Hands the head operation of the stream, a host function, to the thread; the stream is `running` until it is done.
 * False when the thread is busy with another one. */
bool sim_host_begin(struct sim_stream *stream);

#endif
