/* Launches that were put off, made by the queue's thread. For the files of shim/submit/ only. */
#ifndef GS_SUBMIT_MAKE_H
#define GS_SUBMIT_MAKE_H

#include <stdint.h>

#include "graph/launch.h"
#include "shim/api/cuda.h"

/* The thread's context is this one from now on. */
CUresult gs_make_enter(uint64_t context_id, void *context);

/* An error is kept for the program's next call (gs_submit_failed). */
void gs_make_launch(const struct gsg_launch *launch);

#endif
