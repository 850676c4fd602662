/* See chunk.h. */
#include "allocator/chunk.h"

#include <string.h>

#include "allocator/block.h"
#include "shim/base/assert.h"

static uint64_t unit_of(const struct gsa_chunk *chunk, uint64_t address)
{
	gsb_debug_assert(address - chunk->home->address < chunk->home->size_bytes);
	return (address - chunk->home->address) / GSA_CHUNK_UNIT_BYTES;
}

void gsa_chunk_open(struct gsa_chunk *chunk, struct gsa_block *home, struct gsa_block *first)
{
	gsb_debug_assert(home->size_bytes <= GSA_CHUNK_BYTES);
	memset(chunk, 0, sizeof(*chunk));
	memset(first, 0, sizeof(*first));
	first->address = home->address;
	first->size_bytes = home->size_bytes;
	first->segment = home->segment;
	chunk->home = home;
	chunk->first = first;
	chunk->starts[0] = first;
}

struct gsa_block *gsa_chunk_find(const struct gsa_chunk *chunk, uint64_t address)
{
	uint64_t unit = unit_of(chunk, address);
	struct gsa_block *block = chunk->starts[unit];

	while (block == NULL || block->address > address)
		block = chunk->starts[--unit];
	while (gsa_block_end(block) <= address)
		block = block->next;
	return block;
}

void gsa_chunk_cut(struct gsa_chunk *chunk, struct gsa_block *block, struct gsa_block *rear, uint64_t size_bytes)
{
	struct gsa_block **start;

	gsa_block_split(block, rear, size_bytes);
	start = &chunk->starts[unit_of(chunk, rear->address)];
	if (*start == NULL || (*start)->address > rear->address)
		*start = rear;
}

struct gsa_block *gsa_chunk_join(struct gsa_chunk *chunk, struct gsa_block *block)
{
	struct gsa_block *rear = block->next, *next = rear->next;
	uint64_t unit = unit_of(chunk, rear->address);

	if (chunk->starts[unit] == rear)
		chunk->starts[unit] = next != NULL && unit_of(chunk, next->address) == unit ? next : NULL;
	block->size_bytes += rear->size_bytes;
	block->next = next;
	if (next != NULL)
		next->prev = block;
	return rear;
}
