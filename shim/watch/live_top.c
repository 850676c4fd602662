/* See live_top.h. Blocks are summed by stack in a table that is small and static: memory has just run out. Stacks that
 * find no place in it are left out. */
#include "shim/watch/live_top.h"

#include <string.h>

#include "shim/watch/place.h"

#define SUMS 512u
#define SHOWN 3

struct sum {
	uint32_t stack;
	uint32_t count;
	uint64_t bytes;
};

static struct sum sums[SUMS];

static void visit_hole(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	uint64_t *largest_bytes = user;

	if ((state == GSA_BLOCK_IDLE || state == GSA_BLOCK_PENDING) && info->reserved_bytes > *largest_bytes)
		*largest_bytes = info->reserved_bytes;
}

void gs_live_top_add_hole(struct gsb_text *text, struct gsa *allocator)
{
	uint64_t largest_bytes = 0;
	const struct gsa_visitor visitor = {.block = visit_hole, .user = &largest_bytes};

	gsa_walk(allocator, &visitor);
	if (largest_bytes == 0)
		return;
	gsb_text_add(text, ", largest hole ");
	gsb_text_add_bytes(text, largest_bytes);
}

static void visit_live(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	unsigned at = info->stack * 2654435761u % SUMS;

	(void)user;
	if (state != GSA_BLOCK_LIVE || info->stack == 0)
		return;
	for (unsigned looks = 0; looks < SUMS; looks++, at = (at + 1) % SUMS) {
		if (sums[at].count != 0 && sums[at].stack != info->stack)
			continue;
		sums[at].stack = info->stack;
		sums[at].count++;
		sums[at].bytes += info->size_bytes;
		return;
	}
}

void gs_live_top_add_places(struct gsb_text *text, struct gsa *allocator)
{
	const struct gsa_visitor visitor = {.block = visit_live};

	memset(sums, 0, sizeof(sums));
	gsa_walk(allocator, &visitor);
	for (unsigned shown = 0; shown < SHOWN; shown++) {
		struct sum *most = &sums[0];

		for (unsigned i = 1; i < SUMS; i++)
			if (sums[i].bytes > most->bytes)
				most = &sums[i];
		if (most->bytes == 0)
			return;
		gsb_text_add(text, shown == 0 ? "; most of it " : ", ");
		gsb_text_add_bytes(text, most->bytes);
		gsb_text_add(text, " in %u blocks by ", most->count);
		gs_place_add(text, most->stack);
		most->bytes = 0;
	}
}
