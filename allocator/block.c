/* See block.h. */
#include "allocator/block.h"

#include "allocator/bins.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"

/* Of a block in the arena. */
static enum gsa_pool pool_at(const struct gsa *allocator, const struct gsa_block *block)
{
	return block->address < allocator->small_address ? GSA_POOL_LARGE : GSA_POOL_SMALL;
}

static struct gsa_bins *bins_of(struct gsa *allocator, const struct gsa_block *block)
{
	if (block->state == GSA_BLOCK_UNMAPPED)
		return &allocator->holes[pool_at(allocator, block)];
	return block->state == GSA_BLOCK_PENDING ? &block->tag->bins[block->segment->pool]
						 : &allocator->idle[block->segment->pool];
}

/* Idle memory that was used and freed on the tag's stream before. What was only freed there is somebody else's: it would
 * be kept from them by whatever is pending on that stream now. */
static bool returns_to(const struct gsa_block *idle, const struct gsa_tag *tag)
{
	return idle->state == GSA_BLOCK_IDLE && idle->freed_on != 0 && tag != NULL && idle->freed_on == tag->stream.id &&
	       idle->stream_id == tag->stream.id;
}

/* Whether the neighbour becomes part of a block that is about to be entered. */
static bool joins(const struct gsa_block *block, const struct gsa_block *other)
{
	return other != NULL && other->segment == block->segment &&
	       ((other->state == block->state && other->tag == block->tag) || returns_to(other, block->tag));
}

/* An idle block beside memory that is pending on the stream that it was freed on last becomes pending there too. */
static void follow(struct gsa_block *block, const struct gsa_block *other)
{
	if (other != NULL && other->segment == block->segment && returns_to(block, other->tag)) {
		block->state = GSA_BLOCK_PENDING;
		block->tag = other->tag;
	}
}

/* Both detached; rear follows front. */
static void merge(struct gsa *allocator, struct gsa_block *front, struct gsa_block *rear)
{
	gsb_debug_assert(front->next == rear && gsa_block_end(front) == rear->address);
	if (rear->free_serial > front->free_serial) {
		front->free_serial = rear->free_serial;
		front->freed_on = rear->freed_on;
		gsa_block_inherit(front, rear);
	}
	gsa_starts_drop(&allocator->starts[pool_at(allocator, rear)], rear);
	front->size_bytes += rear->size_bytes;
	front->next = rear->next;
	if (rear->next != NULL)
		rear->next->prev = front;
	gsb_slab_give(&allocator->block_slab, rear);
}

void gsa_block_leave(struct gsa *allocator, struct gsa_block *block)
{
	gsb_debug_assert(block->state != GSA_BLOCK_LIVE);
	gsa_bins_remove(bins_of(allocator, block), block);
	gsa_stats_leave(allocator, block);
	if (block->state == GSA_BLOCK_PENDING)
		gsa_tag_pull(block->tag, block);
	block->tag = NULL;
}

/* A neighbour leaves to become part of a block that is entered as `state`: what it was counted as before it is counted
 * as after. Returns how much is not. */
static uint64_t leave_to_join(struct gsa *allocator, struct gsa_block *other, enum gsa_block_state state)
{
	uint64_t uncounted_bytes = 0;

	gsa_bins_remove(bins_of(allocator, other), other);
	if (other->state != state) {
		gsa_stats_leave(allocator, other);
		uncounted_bytes = other->size_bytes;
	}
	if (other->state == GSA_BLOCK_PENDING)
		gsa_tag_pull(other->tag, other);
	other->tag = NULL;
	return uncounted_bytes;
}

struct gsa_block *gsa_block_settle(struct gsa *allocator, struct gsa_block *block, enum gsa_block_state state,
				   struct gsa_tag *tag)
{
	uint64_t uncounted_bytes = block->size_bytes;
	struct gsa_block *front;

	gsb_debug_assert((tag != NULL) == (state == GSA_BLOCK_PENDING));
	block->state = state;
	block->tag = tag;
	if (state == GSA_BLOCK_IDLE) {
		follow(block, block->next);
		follow(block, block->prev);
	}
	state = block->state;
	tag = block->tag;
	while (joins(block, block->next)) {
		uncounted_bytes += leave_to_join(allocator, block->next, state);
		merge(allocator, block, block->next);
	}
	while (joins(block, block->prev)) {
		front = block->prev;
		uncounted_bytes += leave_to_join(allocator, front, state);
		merge(allocator, front, block);
		block = front;
		block->state = state;
		block->tag = tag;
	}
	gsa_bins_insert(bins_of(allocator, block), block);
	gsa_stats_enter_free(allocator, state, uncounted_bytes);
	if (state == GSA_BLOCK_PENDING)
		gsa_tag_push(tag, block);
	return block;
}

struct gsa_block *gsa_block_cut(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take_dirty(&allocator->block_slab);
	struct gsa_bins *bins = bins_of(allocator, block);

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	gsb_assert(rear != NULL && size_bytes > 0 && size_bytes < block->size_bytes);
	gsa_bins_remove(bins, block);
	gsa_block_split(block, rear, size_bytes);
	if (block->state == GSA_BLOCK_PENDING)
		gsa_tag_push_behind(block->tag, block, rear);
	gsa_starts_add(&allocator->starts[pool_at(allocator, rear)], rear);
	gsa_bins_insert(bins, block);
	gsa_bins_insert(bins, rear);
	return rear;
}

struct gsa_block *gsa_block_part(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take_dirty(&allocator->block_slab);

	gsb_assert(rear != NULL && size_bytes > 0 && size_bytes < block->size_bytes);
	gsa_block_split(block, rear, size_bytes);
	gsa_starts_add(&allocator->starts[pool_at(allocator, rear)], rear);
	return rear;
}

/* Detaches the front of an entered free block; the rest takes its place. */
static void take_front(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take_dirty(&allocator->block_slab);
	struct gsa_bins *bins = bins_of(allocator, block);

	gsb_assert(rear != NULL);
	gsa_bins_remove(bins, block);
	gsa_block_split(block, rear, size_bytes);
	gsa_starts_add(&allocator->starts[pool_at(allocator, rear)], rear);
	gsa_bins_insert(bins, rear);
	gsa_stats_leave(allocator, block);
	if (block->state == GSA_BLOCK_PENDING)
		gsa_tag_replace(block->tag, block, rear);
	block->tag = NULL;
}

struct gsa_block *gsa_block_take(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *last = block;
	uint64_t before = 0;

	if (block->size_bytes > size_bytes) {
		take_front(allocator, block, size_bytes);
		return block;
	}
	for (; before + last->size_bytes < size_bytes; last = last->next)
		before += last->size_bytes;
	if (before + last->size_bytes > size_bytes)
		gsa_block_cut(allocator, last, size_bytes - before);
	gsa_block_leave(allocator, block);
	while (block->size_bytes < size_bytes) {
		gsa_block_leave(allocator, block->next);
		merge(allocator, block, block->next);
	}
	return block;
}
