/* See lend.h. */
#include "allocator/lend.h"

#include "allocator/aside.h"
#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/fit.h"
#include "allocator/reclaim.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

#define CHUNK_LEAST_BYTES (2ull << 20)
#define CHUNK_SHARE 4 /* of what the lane has already */
#define FREE_BYTES (1ull << 20)
#define FREE_SHARE 4
#define MISSES_REFUSED 256   /* until a refused lane asks again */
#define ALLOCS_REFUSED 65536 /* until another lane is opened where memory is short */
#define SERVED_STRANGER 4096 /* what a lane has to serve for each chunk that was taken from it */
#define STRANGERS_FREE 8     /* chunks for which it need not */
#define LOOK_NS 100000000ull

static struct gsa_lane *slot_at(struct gsa *allocator, unsigned slot)
{
	return atomic_load_explicit(&allocator->lanes[slot], memory_order_relaxed);
}

/* stream: with id 0, nobody's. */
static void belong(struct gsa_lane *lane, const struct gsa_stream *stream)
{
	gsb_debug_assert(gsb_lock_held(&lane->lock));
	lane->stream = *stream;
}

/* The open lane of the stream; NULL. */
static struct gsa_lane *lane_find(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_lane *lane = atomic_load_explicit(gsa_lane_slot(allocator, stream_id), memory_order_relaxed);

	return lane != NULL && lane->stream.id == stream_id ? lane : NULL;
}

bool gsa_lend_is_due(struct gsa *allocator, const struct gsa_want *want)
{
	const struct gsa_options *options = &allocator->options;
	const struct gsa_lane *lane;

	if (!gsa_lane_suits(want) || options->lanes == GSA_LANES_NEVER || !options->expandable ||
	    allocator->plain_only || allocator->arena_address == 0 || allocator->alloc_serial < allocator->lanes_after)
		return false;
	lane = atomic_load_explicit(gsa_lane_slot(allocator, want->request->stream->id), memory_order_relaxed);
	return lane == NULL || lane->stream.id == 0;
}

bool gsa_lend_wanted(struct gsa_lane *lane)
{
	lane->misses++;
	return lane->held_bytes - lane->live_bytes <= lane->live_bytes / FREE_SHARE + FREE_BYTES &&
	       lane->misses >= lane->asks_at &&
	       lane->strangers * SERVED_STRANGER <= lane->served + STRANGERS_FREE * SERVED_STRANGER;
}

/* --- books ------------------------------------------------------------------------------------------------------- */

static void gauge_drift(struct gsa_gauge *gauge, struct gsa_drift drift)
{
	if ((int64_t)gauge->now + drift.top > (int64_t)gauge->peak)
		gauge->peak = gauge->now + (uint64_t)drift.top;
	gauge->now += (uint64_t)drift.now;
}

static void book(struct gsa *allocator, struct gsa_lane *lane)
{
	struct gsa_stats *stats = &allocator->stats;
	uint64_t least_bytes = stats->pending_bytes.now + stats->idle_bytes.now - (uint64_t)lane->rounded.top;

	gsb_debug_assert(gsb_lock_held(&lane->lock));
	if (least_bytes < allocator->least_free_bytes)
		allocator->least_free_bytes = least_bytes;
	if (lane->allocs > 0 && stats->pool_bytes.now > stats->pool_bytes.peak)
		stats->pool_bytes.peak = stats->pool_bytes.now;
	gauge_drift(&stats->allocated_bytes, lane->asked);
	gauge_drift(&stats->allocated_async_bytes, lane->asked);
	gauge_drift(&stats->rounded_bytes, lane->rounded);
	gauge_drift(&stats->live_count, lane->count);
	gauge_drift(&stats->pending_bytes, (struct gsa_drift){-lane->rounded.now, lane->freed_top});
	stats->allocs += lane->allocs;
	stats->hits += lane->allocs;
	stats->frees += lane->frees;
	lane->asked = lane->rounded = lane->count = (struct gsa_drift){0};
	lane->freed_top = 0;
	lane->allocs = lane->frees = 0;
}

static void supply(struct gsa *allocator, struct gsa_lane *lane)
{
	struct gsa_block *node;

	lane->segment_bytes = allocator->expandable[GSA_POOL_SMALL]->mapped_bytes;
	if (lane->serial_end - lane->serial < GSA_LANE_SERIALS / 2) {
		lane->serial = allocator->alloc_serial;
		lane->serial_end = allocator->alloc_serial += GSA_LANE_SERIALS;
	}
	while (lane->node_count < GSA_LANE_NODES && (node = gsb_slab_take_dirty(&allocator->block_slab)) != NULL) {
		node->bin_next = lane->nodes;
		lane->nodes = node;
		lane->node_count++;
	}
	while (lane->node_count > 2 * GSA_LANE_NODES) {
		node = lane->nodes;
		lane->nodes = node->bin_next;
		lane->node_count--;
		gsb_slab_give(&allocator->block_slab, node);
	}
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

static void chunk_enter(struct gsa *allocator, const struct gsa_chunk *chunk, struct gsa_chunk *value,
			struct gsa_lane *lane)
{
	for (uint64_t at = 0; at < chunk->home->size_bytes; at += GSA_LENT_BYTES) {
		struct gsa_lent *lent = gsa_lane_lent(allocator, chunk->home->address + at);

		lent->chunk = value;
		atomic_store_explicit(&lent->lane, lane, memory_order_release);
	}
}

/* A block counted as lent, or free in a lane, becomes free as others are. Returns what it has become part of. */
static struct gsa_block *free_again(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream)
{
	struct gsa_tag *tag = gsa_tag_for(allocator, stream);

	gsa_stats_leave(allocator, block);
	block->free_serial = ++allocator->free_serial;
	block->freed_on = tag->stream.id;
	return gsa_block_settle(allocator, block, GSA_BLOCK_PENDING, tag);
}

/* The chunk's blocks take the place of its home, whose node becomes the first of them. */
static void splice(struct gsa *allocator, struct gsa_chunk *chunk)
{
	struct gsa_block *home = chunk->home, *first = chunk->first, *before = home->prev, *after = home->next;
	struct gsa_block *last = home;

	*home = *first;
	home->prev = before;
	gsb_slab_give(&allocator->block_slab, first);
	if (home->next != NULL)
		home->next->prev = home;
	for (struct gsa_block *block = home->next; block != NULL; block = block->next) {
		gsa_starts_add(&allocator->starts[GSA_POOL_SMALL], block);
		last = block;
	}
	last->next = after;
	if (after != NULL)
		after->prev = last;
}

/* The books are settled. Both locks held. */
static void chunk_back(struct gsa *allocator, struct gsa_lane *lane, struct gsa_chunk *chunk)
{
	struct gsa_block *home = chunk->home, *block;
	uint64_t end = gsa_block_end(home);
	struct gsa_chunk **link = &lane->chunks;

	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	chunk_enter(allocator, chunk, NULL, NULL);
	lane->held_bytes -= home->size_bytes;
	for (block = chunk->first; block != NULL; block = block->next) {
		if (block->state == GSA_BLOCK_PENDING)
			gsa_bins_remove(&lane->bins, block);
		else
			lane->live_bytes -= block->size_bytes;
	}
	splice(allocator, chunk);
	for (block = home; block != NULL && block->address < end; block = block->next)
		if (block->state == GSA_BLOCK_PENDING && block->tag == NULL)
			block = free_again(allocator, block, &lane->stream);
	gsb_slab_give(&allocator->chunk_slab, chunk);
}

/* Cuts off what does not lie in whole units of the map, at both ends. */
static struct gsa_block *trim_ends(struct gsa *allocator, struct gsa_block *home, const struct gsa_stream *stream)
{
	uint64_t from = gsa_round_up(home->address, GSA_LENT_BYTES),
		 end = gsa_block_end(home) / GSA_LENT_BYTES * GSA_LENT_BYTES;

	if (end < gsa_block_end(home))
		free_again(allocator, gsa_block_part(allocator, home, end - home->address), stream);
	if (from > home->address) {
		struct gsa_block *rear = gsa_block_part(allocator, home, from - home->address);

		free_again(allocator, home, stream);
		return rear;
	}
	return home;
}

int gsa_lend_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block)
{
	struct gsa_loan *loan = want->loan;

	if (lane_find(allocator, loan->stream.id) == NULL)
		return GS_E_NO_MEMORY;
	*ret_block = gsa_fit_take(allocator, want);
	if (*ret_block == NULL)
		return GS_E_NOT_FOUND;
	(*ret_block)->state = GSA_BLOCK_LENT;
	gsa_stats_enter(allocator, *ret_block);
	loan->home = *ret_block;
	loan->next = allocator->loans;
	allocator->loans = loan;
	return GS_OK;
}

/* Ends the loan at *link: its block is nobody's. */
static struct gsa_block *loan_end(struct gsa_loan **link)
{
	struct gsa_loan *loan = *link;
	struct gsa_block *home = loan->home;

	*link = loan->next;
	loan->home = NULL;
	return home;
}

static void loans_back(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_loan **link = &allocator->loans, *loan;

	while ((loan = *link) != NULL)
		if (loan->stream.id == stream_id)
			free_again(allocator, loan_end(link), &loan->stream);
		else
			link = &loan->next;
}

/* A lent block becomes a chunk of its stream's lane, or free again. */
static bool adopt(struct gsa *allocator, struct gsa_loan *loan)
{
	struct gsa_lane *lane = lane_find(allocator, loan->stream.id);
	struct gsa_loan **link = &allocator->loans;
	struct gsa_chunk *chunk = NULL;
	struct gsa_block *home, *first;

	if (loan->home == NULL)
		return false;
	while (*link != loan)
		link = &(*link)->next;
	home = loan_end(link);
	if (gsb_slab_reserve(&allocator->block_slab, 3) != GS_OK ||
	    (chunk = gsb_slab_take_dirty(&allocator->chunk_slab)) == NULL) {
		free_again(allocator, home, &loan->stream);
		return false;
	}
	home = trim_ends(allocator, home, &loan->stream);
	first = gsb_slab_take_dirty(&allocator->block_slab);
	gsa_chunk_open(chunk, home, first);
	gsa_block_inherit(first, home);
	first->state = GSA_BLOCK_PENDING;
	gsb_lock_acquire(&lane->lock);
	chunk->next = lane->chunks;
	lane->chunks = chunk;
	lane->held_bytes += home->size_bytes;
	gsa_bins_insert(&lane->bins, first);
	chunk_enter(allocator, chunk, chunk, lane);
	gsb_lock_release(&lane->lock);
	return true;
}

void gsa_lend_back(struct gsa *allocator, uint64_t address)
{
	struct gsa_lent *lent = gsa_lane_lent(allocator, address);
	struct gsa_lane *lane = lent != NULL ? atomic_load_explicit(&lent->lane, memory_order_relaxed) : NULL;

	if (lane == NULL)
		return;
	gsb_lock_acquire(&lane->lock);
	book(allocator, lane);
	lane->strangers++;
	chunk_back(allocator, lane, lent->chunk);
	gsb_lock_release(&lane->lock);
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

void gsa_lend_settle(struct gsa *allocator, struct gsa_lane *lane)
{
	struct gsa_chunk *next;

	if (lane->stream.id == 0)
		return;
	book(allocator, lane);
	supply(allocator, lane);
	for (struct gsa_chunk *chunk = lane->chunks; chunk != NULL; chunk = next) {
		uint64_t free_bytes = lane->held_bytes - lane->live_bytes;

		next = chunk->next;
		if (chunk->live_count == 0 &&
		    free_bytes - chunk->home->size_bytes > 2 * (lane->live_bytes / FREE_SHARE + FREE_BYTES))
			chunk_back(allocator, lane, chunk);
	}
}

void gsa_lend_settle_all(struct gsa *allocator)
{
	if (atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) == 0)
		return;
	for (unsigned slot = 0; slot < GSA_LANES; slot++) {
		struct gsa_lane *lane = slot_at(allocator, slot);

		if (lane == NULL)
			continue;
		gsb_lock_acquire(&lane->lock);
		book(allocator, lane);
		gsb_lock_release(&lane->lock);
	}
}

static void end(struct gsa *allocator, struct gsa_lane *lane)
{
	static const struct gsa_stream nobody;

	if (lane == NULL || lane->stream.id == 0)
		return;
	gsb_lock_acquire(&lane->lock);
	book(allocator, lane);
	while (lane->chunks != NULL)
		chunk_back(allocator, lane, lane->chunks);
	loans_back(allocator, lane->stream.id);
	belong(lane, &nobody);
	lane->strangers = lane->served = lane->seen = lane->misses = lane->asks_at = 0;
	gsb_lock_release(&lane->lock);
	atomic_fetch_sub_explicit(&allocator->lane_count, 1, memory_order_relaxed);
}

void gsa_lend_end_all(struct gsa *allocator)
{
	for (unsigned slot = 0;
	     slot < GSA_LANES && atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) > 0; slot++)
		end(allocator, slot_at(allocator, slot));
}

void gsa_lend_end_stream(struct gsa *allocator, uint64_t stream_id)
{
	end(allocator, lane_find(allocator, stream_id));
}

void gsa_lend_end_for_want(struct gsa *allocator)
{
	gsa_lend_end_all(allocator);
	allocator->lanes_after = allocator->alloc_serial + ALLOCS_REFUSED;
}

static bool was_used(struct gsa_lane *lane)
{
	bool used;

	gsb_lock_acquire(&lane->lock);
	used = lane->served != lane->seen;
	lane->seen = lane->served;
	gsb_lock_release(&lane->lock);
	return used;
}

void gsa_lend_look(struct gsa *allocator)
{
	struct gsa_lane *lane;
	unsigned used_count = 0;
	uint64_t now_ns;

	if (atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) == 0)
		return;
	now_ns = allocator->ops.now_ns(allocator->device);
	if (now_ns - allocator->lanes_look_ns < LOOK_NS)
		return;
	allocator->lanes_look_ns = now_ns;
	for (unsigned slot = 0; slot < GSA_LANES; slot++) {
		lane = slot_at(allocator, slot);
		if (lane == NULL || lane->stream.id == 0)
			continue;
		if (was_used(lane))
			used_count++;
		else
			end(allocator, lane);
	}
	if (used_count < 2)
		gsa_lend_end_all(allocator);
}

/* The map of what is lent, once: all its pages are zero and cost nothing. */
static bool map_open(struct gsa *allocator)
{
	const struct gsa_starts *starts = &allocator->starts[GSA_POOL_SMALL];
	uint64_t units = starts->size_bytes / GSA_LENT_BYTES + 1;
	struct gsa_lent *lent;

	if (atomic_load_explicit(&allocator->lent, memory_order_relaxed) != NULL)
		return true;
	lent = gsb_os_pages_map(units * sizeof(*lent));
	if (lent == NULL)
		return false;
	allocator->lent_address = starts->address / GSA_LENT_BYTES * GSA_LENT_BYTES;
	allocator->lent_range_bytes = units * GSA_LENT_BYTES;
	atomic_store_explicit(&allocator->lent, lent, memory_order_release);
	return true;
}

void gsa_lend_fini(struct gsa *allocator)
{
	struct gsa_lent *lent = atomic_load_explicit(&allocator->lent, memory_order_relaxed);

	if (lent != NULL)
		gsb_os_pages_unmap(lent, allocator->lent_range_bytes / GSA_LENT_BYTES * sizeof(*lent));
}

/* The lane in the stream's slot, made if need be; NULL: no pages for that. */
static struct gsa_lane *slot_lane(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_lane *lane = atomic_load_explicit(gsa_lane_slot(allocator, stream_id), memory_order_relaxed);

	if (!map_open(allocator) || (lane == NULL && (lane = gsb_slab_take(&allocator->lane_slab)) == NULL))
		return NULL;
	if (atomic_load_explicit(gsa_lane_slot(allocator, stream_id), memory_order_relaxed) == NULL) {
		gsb_lock_init(&lane->lock, GSB_RANK_LANE);
		atomic_store_explicit(gsa_lane_slot(allocator, stream_id), lane, memory_order_release);
	}
	return lane;
}

/* The stream's lane, opened if need be; NULL. */
static struct gsa_lane *open_lane(struct gsa *allocator, const struct gsa_want *want)
{
	const struct gsa_stream *stream = want->request->stream;
	struct gsa_lane *lane = lane_find(allocator, stream->id);

	if (lane != NULL || !gsa_lend_due(allocator, want))
		return lane;
	lane = slot_lane(allocator, stream->id);
	if (lane == NULL) {
		allocator->lanes_after = allocator->alloc_serial + ALLOCS_REFUSED;
		return NULL;
	}
	if (atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) == 0)
		allocator->lanes_look_ns = allocator->ops.now_ns(allocator->device);
	gsb_lock_acquire(&lane->lock);
	belong(lane, stream);
	gsb_lock_release(&lane->lock);
	atomic_fetch_add_explicit(&allocator->lane_count, 1, memory_order_relaxed);
	return lane;
}

/* How much to lend; 0: nothing. ret_ready: it has what the request needs. */
static uint64_t amount(struct gsa *allocator, struct gsa_lane *lane, uint64_t size_bytes, bool *ret_ready)
{
	uint64_t bytes = CHUNK_LEAST_BYTES;
	bool enough;

	gsb_lock_acquire(&lane->lock);
	gsa_lend_settle(allocator, lane);
	*ret_ready = lane->node_count > 0 && gsa_bins_fit(&lane->bins, size_bytes) != NULL;
	enough = *ret_ready || lane->node_count == 0;
	while (2 * bytes <= lane->held_bytes / CHUNK_SHARE && 2 * bytes <= GSA_CHUNK_BYTES)
		bytes *= 2;
	gsb_lock_release(&lane->lock);
	return enough ? 0 : bytes;
}

static void ask_later(struct gsa_lane *lane)
{
	gsb_debug_assert(gsb_lock_held(&lane->lock));
	lane->asks_at = lane->misses + MISSES_REFUSED;
}

static void refuse(struct gsa *allocator, struct gsa_lane *lane)
{
	if (lane == NULL)
		return;
	if (lane->held_bytes == 0) {
		end(allocator, lane);
		allocator->lanes_after = allocator->alloc_serial + ALLOCS_REFUSED;
		return;
	}
	gsb_lock_acquire(&lane->lock);
	ask_later(lane);
	gsb_lock_release(&lane->lock);
}

bool gsa_lend_more(struct gsa *allocator, const struct gsa_want *want)
{
	struct gsa_request request = *want->request;
	struct gsa_loan loan = {0};
	struct gsa_want lend = {.request = &request, .pool = GSA_POOL_SMALL, .loan = &loan};
	struct gsa_block_info info;
	struct gsa_lane *lane;
	bool ready = false;

	if (!gsa_lane_suits(want))
		return false;
	loan.stream = *request.stream;
	gsa_acquire(allocator);
	lane = open_lane(allocator, want);
	if (lane != NULL)
		lend.size_bytes = amount(allocator, lane, want->size_bytes, &ready);
	gsb_lock_release(&allocator->lock);
	if (lend.size_bytes == 0)
		return ready;
	request.size_bytes = lend.size_bytes;
	request.lasting = true;
	ready = gsa_reclaim_lend(allocator, &lend, &info) == GS_OK;
	gsa_acquire(allocator);
	ready = ready && adopt(allocator, &loan);
	if (!ready)
		refuse(allocator, lane_find(allocator, request.stream->id));
	gsb_lock_release(&allocator->lock);
	return ready;
}
