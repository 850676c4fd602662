/* Events of ours, kept for the next fence, and whose context each is of: an event belongs to the context that it was created in, and
 * is gone with it. Thread-safe (lock LIVE, a leaf). */
#ifndef GS_CORE_STOCK_H
#define GS_CORE_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/core/device.h"

struct gs_stocked {
	CUevent event; /* NULL: not created yet; whoever has it does */
	uint64_t context_id;
	CUcontext context;
	struct gs_stocked *next; /* its owner's to use */
};

/* One of the context, of nobody until it is given back. NULL: no host memory. */
struct gs_stocked *gs_stock_take(const struct gs_context *context);
void gs_stock_give(struct gs_stocked *event);

/* Its context lives on. */
bool gs_stock_lives(const struct gs_stocked *event);

/* What is kept of the context is forgotten. */
void gs_stock_context_gone(uint64_t context_id);

/* How many were taken and not given back, and how many are kept. */
size_t gs_stock_taken(void);
size_t gs_stock_kept(void);

#endif
