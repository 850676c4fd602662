/* What lies free between live memory, and who keeps it there.
 *
 * In gpushim's segments: a hole is a run of free bytes between two live blocks of a segment. Of a segment that grows in place, whole
 * handles within a hole can go elsewhere; of others the whole segment can, when nothing in it is alive. What is left of
 * a hole is pinned by its neighbours.
 *
 * In PyTorch's segments, under torch:observe: what no tensor fills. A segment without a tensor is PyTorch's to give back at
 * once; in the others, whole pages could be given back if PyTorch's segments were expandable. */
#ifndef GSR_HOLES_H
#define GSR_HOLES_H

#include "report/places.h"

#define GSR_HANDLE_BYTES (2u << 20) /* physical memory comes in pieces of this size */

struct gsr_hole {
	uint64_t device;
	uint64_t address, size_bytes;
	uint64_t free_bytes;	/* of it, can be given back: what its neighbours do not pin */
	uint64_t pending_bytes; /* of these, only when the work of other streams is done */
	uint64_t before, after; /* the live neighbours: rows of blocks + 1; 0 = none */
};

/* A line whose live memory pins something. */
struct gsr_pin {
	uint64_t frame;
	uint64_t pinned_bytes; /* its share of what is pinned */
	uint64_t holes;	       /* or segments, of PyTorch */
	uint64_t live_bytes;   /* of the blocks or tensors that pin */
};

struct gsr_holes {
	size_t count;
	struct gsr_hole *holes; /* the largest first */
	size_t pin_count;
	struct gsr_pin *pins; /* most pinned first */
	uint64_t held_bytes, live_bytes;
	uint64_t hole_bytes, free_bytes, pending_bytes; /* sums over the holes */
};

void gsr_holes_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_holes *ret_holes);
void gsr_holes_drop(struct gsr_holes *holes);

struct gsr_torch_waste {
	uint64_t segments, held_bytes, tensor_bytes;
	uint64_t empty_segments, empty_bytes; /* without a tensor */
	uint64_t pinned_bytes;		      /* not in tensors, in segments that have some */
	uint64_t page_bytes;		      /* of these, whole pages */
	size_t pin_count;
	struct gsr_pin *pins;
};

/* All zero where PyTorch reported no tensor. */
void gsr_torch_waste_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_torch_waste *ret_waste);
void gsr_torch_waste_drop(struct gsr_torch_waste *waste);

#endif
