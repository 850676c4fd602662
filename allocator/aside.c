/* See aside.h. */
#include "allocator/aside.h"

#include "allocator/merge.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"

_Static_assert(GSA_ASIDE_STREAMS <= 32, "a bit of asides_used each");
_Static_assert(GSA_ASIDE_BYTES <= GSA_SMALL_BYTES, "only requests of the small pool empty lists");

static void empty_list(struct gsa *allocator, struct gsa_aside *aside, struct gsa_aside_list *list)
{
	struct gsa_tag *tag = gsa_tag_for(allocator, &aside->stream);
	struct gsa_block *block;

	while ((block = list->first) != NULL) {
		list->first = block->bin_next;
		block->free_serial = allocator->free_serial;
		gsa_merge_pend(allocator, block, tag);
	}
	aside->count -= list->length;
	list->length = 0;
}

bool gsa_aside_empty_longest(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_aside *aside = gsa_aside_of(allocator, stream_id);
	unsigned longest = 0;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	if (aside->count == 0 || aside->stream.id != stream_id)
		return false;
	for (unsigned list = 1; list < GSA_ASIDE_LISTS; list++)
		if (aside->lists[list].length * (list + 1) > aside->lists[longest].length * (longest + 1))
			longest = list;
	allocator->free_serial++;
	empty_list(allocator, aside, &aside->lists[longest]);
	return true;
}

void gsa_aside_empty_all(struct gsa *allocator)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	allocator->free_serial++;
	for (unsigned used = allocator->asides_used; used != 0; used &= used - 1) {
		struct gsa_aside *aside = &allocator->asides[__builtin_ctz(used)];

		for (unsigned list = 0; aside->count > 0; list++)
			if (aside->lists[list].length > 0)
				empty_list(allocator, aside, &aside->lists[list]);
	}
	allocator->asides_used = 0;
}

static void next_while(struct gsa *allocator)
{
	allocator->valley_count = allocator->fewest_count;
	allocator->fewest_count = allocator->stats.live_count.now;
	allocator->while_end = allocator->alloc_serial + GSA_ASIDE_WHILE;
}

void gsa_aside_look(struct gsa *allocator)
{
	if (!gsa_aside_low(allocator))
		return;
	if (allocator->alloc_serial >= allocator->while_end)
		next_while(allocator);
	if (allocator->stats.live_count.now > allocator->valley_count)
		return;
	allocator->valley_count = allocator->stats.live_count.now;
	gsa_aside_empty_all(allocator);
}

void gsa_aside_end(struct gsa *allocator)
{
	gsa_aside_empty_all(allocator);
	next_while(allocator);
}

void gsa_aside_check(const struct gsa *allocator)
{
	for (unsigned place = 0; place < GSA_ASIDE_STREAMS; place++) {
		const struct gsa_aside *aside = &allocator->asides[place];
		unsigned count = 0;

		for (unsigned list = 0; list < GSA_ASIDE_LISTS; list++) {
			const struct gsa_block *first = aside->lists[list].first;
			unsigned length = 0;

			for (const struct gsa_block *block = first; block != NULL; block = block->bin_next, length++) {
				gsb_assert(block->state == GSA_BLOCK_ASIDE && block->tag == NULL && !block->shared);
				gsb_assert(block->size_bytes == (list + 1) * GSA_ROUND_BYTES);
				gsb_assert(block->stream_id == aside->stream.id && block->origin == GSA_ORIGIN_ASYNC);
			}
			gsb_assert(aside->lists[list].length == length);
			count += length;
		}
		gsb_assert(aside->count == count);
		gsb_assert(count == 0 || (allocator->asides_used >> place & 1));
		gsb_assert(count == 0 || aside->stream.id % GSA_ASIDE_STREAMS == place);
	}
}
