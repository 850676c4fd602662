/* What PyTorch's own allocator makes of the memory it holds, seen from outside under torch:observe.
 *
 * A live block is PyTorch's if a tensor lies or lay in it, or if its stack passes through libc10_cuda. What such blocks
 * hold beyond their tensors is cached by PyTorch: free to it, taken from everybody else. */
#ifndef GSR_TORCH_H
#define GSR_TORCH_H

#include "report/model.h"

struct gsr_torch {
	bool seen; /* any tensor was ever reported */
	uint64_t tensor_bytes, tensor_count;
	uint64_t held_bytes, held_count;       /* PyTorch's blocks */
	uint64_t cached_bytes;		       /* held and not in tensors */
	uint64_t outside_bytes, outside_count; /* other live blocks */
};

/* A live block of gpushim's, or live memory that the driver served. */
struct gsr_torch_block {
	uint64_t start, end;
	int64_t time_ns;
	uint64_t stack;
	bool is_driver; /* segments that PyTorch asked for during a capture */
	bool is_torch;
};

struct gsr_torch_blocks {
	struct gsr_torch_block *blocks; /* by address */
	size_t count;
};

/* The caller frees the blocks. */
struct gsr_torch_blocks gsr_torch_blocks_read(const struct gsr_model *model);

void gsr_torch_read(const struct gsr_model *model, struct gsr_torch *ret_torch);

#endif
