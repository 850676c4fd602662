/* Nodes of one size from pages of our own: the metadata of gpushim never comes from the program's heap.
 *
 * Not thread-safe: the lock of the structure that the nodes belong to protects the slab too. Pages are never given
 * back; a freed node is reused first. gsb_slab_reserve lets a caller obtain nodes at a moment when failing is
 * allowed, so that a later step (a free) cannot fail. Under AddressSanitizer a free node is out of bounds: its use,
 * and giving it twice, is reported. */
#ifndef GSB_SLAB_H
#define GSB_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

struct gsb_slab {
	size_t node_bytes;  /* fixed at init; rounded up to 16 */
	void *free_nodes;   /* singly linked through the first word */
	size_t free_count;  /* length of free_nodes */
	size_t total_count; /* nodes ever made; total_count - free_count are in use */
#ifdef GSB_FAULTS
	bool starved; /* a reserve was made to fail: takes fail until another succeeds, as with no free nodes */
#endif
};

void gsb_slab_init(struct gsb_slab *slab, size_t node_bytes);

/* Makes sure that the next `count` takes succeed. GS_E_NO_HOST_MEMORY when the system has no pages. */
int gsb_slab_reserve(struct gsb_slab *slab, size_t count);

/* A zeroed node, or NULL when the system has no pages. */
void *gsb_slab_take(struct gsb_slab *slab);

/* The same with whatever content: for a caller that writes all of it. */
void *gsb_slab_refill_take(struct gsb_slab *slab);

/* Free nodes are out of bounds for AddressSanitizer: a use after gsb_slab_give is seen. */
#ifdef __SANITIZE_ADDRESS__
#define gsb_slab_close(slab, node) ASAN_POISON_MEMORY_REGION(node, (slab)->node_bytes)
#define gsb_slab_open(slab, node) ASAN_UNPOISON_MEMORY_REGION(node, (slab)->node_bytes)
#else
#define gsb_slab_close(slab, node) ((void)(node))
#define gsb_slab_open(slab, node) ((void)(node))
#endif

/* Where a reserve fails, and the caller goes on as if it had not, it shall miss the nodes. */
#ifdef GSB_FAULTS
#define gsb_slab_starved(slab) ((slab)->starved)
#else
#define gsb_slab_starved(slab) false
#endif

/* The next take succeeds, without asking the system for anything. */
static inline bool gsb_slab_ready(struct gsb_slab *slab)
{
#ifdef GSB_FAULTS
	if (gsb_slab_reserve(slab, 1) < 0)
		return false;
#endif
	return slab->free_count > 0;
}

static inline void *gsb_slab_take_dirty(struct gsb_slab *slab)
{
	void *node = slab->free_nodes;

	if (__builtin_expect(node == NULL || gsb_slab_starved(slab), 0))
		return gsb_slab_refill_take(slab);
	gsb_slab_open(slab, node);
	slab->free_nodes = *(void **)node;
	slab->free_count--;
	return node;
}

static inline void gsb_slab_give(struct gsb_slab *slab, void *node)
{
	*(void **)node = slab->free_nodes;
	slab->free_nodes = node;
	slab->free_count++;
	gsb_slab_close(slab, node);
}

#endif
