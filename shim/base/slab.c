/* See slab.h. */
#include "shim/base/slab.h"

#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/os.h"

/* One refill: large enough to make mmap rare, small enough not to matter in a process with few allocations. */
#define SLAB_REFILL_BYTES (64u << 10)

#ifdef GSB_FAULTS
#define slab_starve(slab, yes) ((slab)->starved = (yes))
#else
#define slab_starve(slab, yes) false
#endif

void gsb_slab_init(struct gsb_slab *slab, size_t node_bytes)
{
	slab_starve(slab, false);
	slab->node_bytes = (node_bytes + 15) & ~(size_t)15;
	slab->free_nodes = NULL;
	slab->free_count = 0;
	slab->total_count = 0;
	gsb_assert(slab->node_bytes > 0 && slab->node_bytes <= SLAB_REFILL_BYTES);
}

static int slab_refill(struct gsb_slab *slab)
{
	char *pages = gsb_fault(GSB_FAULT_SLAB) ? NULL : gsb_os_pages_map(SLAB_REFILL_BYTES);

	if (pages == NULL)
		return GS_E_NO_HOST_MEMORY;
	for (size_t at = 0; at + slab->node_bytes <= SLAB_REFILL_BYTES; at += slab->node_bytes) {
		slab->total_count++;
		gsb_slab_give(slab, pages + at);
	}
	return GS_OK;
}

int gsb_slab_reserve(struct gsb_slab *slab, size_t count)
{
	if (slab_starve(slab, gsb_fault(GSB_FAULT_SLAB)))
		return GS_E_NO_HOST_MEMORY;
	while (slab->free_count < count) {
		int error = slab_refill(slab);

		if (error != GS_OK)
			return error;
	}
	return GS_OK;
}

void *gsb_slab_refill_take(struct gsb_slab *slab)
{
	if (gsb_slab_starved(slab) || (slab->free_nodes == NULL && slab_refill(slab) != GS_OK))
		return NULL;
	return gsb_slab_take_dirty(slab);
}

void *gsb_slab_take(struct gsb_slab *slab)
{
	void *node = gsb_slab_take_dirty(slab);

	return node != NULL ? memset(node, 0, slab->node_bytes) : NULL;
}
