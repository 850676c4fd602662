/* A packed launch: a record (graph/queue.h) with all that the launch of a kernel needs, copied when the program made it.
 *
 *   struct gsg_launch | attributes | padding to 16 | values
 *
 * Two launches do the same when the bytes of their shapes (with the attributes) and of their values are the same, and may be the
 * same node of a graph, with other values, when those of their shapes are: no byte of either is left unset. */
#ifndef GSG_LAUNCH_H
#define GSG_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/queue.h"

#define GSG_SHAPE_PLAIN 1u  /* never a node of a graph: it has an attribute that nodes cannot have */
#define GSG_SHAPE_LEGACY 2u /* its stream and all others of the context that block wait for each other */

/* No padding: compared as bytes, with the attributes that follow. */
struct gsg_shape {
	uint64_t context_id;
	void *function;
	void *stream;
	const void *layout; /* of the values, as the maker describes it; NULL: the program packed them itself */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t attribute_bytes;
	uint32_t values_bytes;
	uint32_t flags; /* GSG_SHAPE_* */
};

_Static_assert(sizeof(struct gsg_shape) == 4 * 8 + 10 * 4, "no padding");

struct gsg_launch {
	struct gsg_record head;
	void *context; /* what the driver calls it */
	uint64_t values_offset;
	struct gsg_shape shape;
};

_Static_assert(sizeof(struct gsg_launch) == 32 + sizeof(struct gsg_shape), "the attributes follow the shape at once");

static inline uint64_t gsg_launch_values_offset(uint32_t attribute_bytes)
{
	return (sizeof(struct gsg_launch) + attribute_bytes + 15) & ~(uint64_t)15;
}

static inline const unsigned char *gsg_launch_attributes(const struct gsg_launch *launch)
{
	return (const unsigned char *)(launch + 1);
}

static inline const unsigned char *gsg_launch_values(const struct gsg_launch *launch)
{
	return (const unsigned char *)launch + launch->values_offset;
}

#endif
