/* What arena segments and plain ones have in common. */
#ifndef GSA_SEGMENT_H
#define GSA_SEGMENT_H

#include "allocator/types.h"

/* Would holding more_bytes more exceed limit_bytes? ALLOCATOR lock held. */
static inline bool gsa_segment_over_limit(const struct gsa *allocator, uint64_t more_bytes)
{
	uint64_t held_bytes = allocator->stats.reserved_bytes.now + allocator->incoming_bytes;

	return allocator->options.limit_bytes != 0 && held_bytes + more_bytes > allocator->options.limit_bytes;
}

/* Calls on_segment; ALLOCATOR not held. */
static inline void gsa_segment_tell(struct gsa *allocator, bool mapped, uint64_t address, uint64_t size_bytes)
{
	if (allocator->ops.on_segment != NULL)
		allocator->ops.on_segment(allocator->device, mapped, address, size_bytes);
}

#endif
