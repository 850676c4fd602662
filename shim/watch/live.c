/* See live.h. Chained hash table; the bucket array doubles when entries outnumber buckets, and stays as it is when the
 * system has no pages for a larger one. total.count of all classes and devices together is entry_count. */
#include "shim/watch/live.h"

#include <stdbool.h>
#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"
#include "shim/base/slab.h"

#ifdef GSB_FAULTS
#define BUCKETS_FIRST 2u /* grows in every test */
#else
#define BUCKETS_FIRST 1024u
#endif
#define DEVICE_COUNT 256u /* every value of the device field */

struct node {
	struct node *next;
	struct gs_live entry;
};

GSB_BUSY static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
GSB_BUSY static struct gsb_slab nodes;
GSB_BUSY static struct node **buckets;
GSB_BUSY static size_t bucket_count; /* power of two, 0 before the first entry */
GSB_BUSY static size_t entry_count;
static uint64_t dropped;
static struct gs_live_total totals[GS_LIVE_CLASS_COUNT][DEVICE_COUNT];

static size_t bucket_of(uint8_t live_class, uint64_t address, size_t count)
{
	uint64_t hash = (address ^ (uint64_t)live_class << 56) * 0x9e3779b97f4a7c15u;

	return (hash >> 32) & (count - 1);
}

static bool buckets_grow(void)
{
	size_t new_count = bucket_count == 0 ? BUCKETS_FIRST : bucket_count * 2;
	struct node **grown = gsb_fault(GSB_FAULT_LIVE) ? NULL : gsb_os_pages_map(new_count * sizeof(struct node *));

	if (grown == NULL)
		return false;
	for (size_t at = 0; at < bucket_count; at++) {
		for (struct node *node = buckets[at], *next; node != NULL; node = next) {
			size_t to = bucket_of(node->entry.live_class, node->entry.address, new_count);

			next = node->next;
			node->next = grown[to];
			grown[to] = node;
		}
	}
	if (bucket_count == 0)
		gsb_slab_init(&nodes, sizeof(struct node));
	else
		gsb_os_pages_unmap(buckets, bucket_count * sizeof(struct node *));
	buckets = grown;
	bucket_count = new_count;
	return true;
}

/* The link that points to the entry, or to the NULL where it would be appended. */
static struct node **link_of(uint8_t live_class, uint64_t address)
{
	struct node **link = &buckets[bucket_of(live_class, address, bucket_count)];

	gsb_debug_assert(gsb_lock_held(&lock));
	while (*link != NULL && ((*link)->entry.address != address || (*link)->entry.live_class != live_class))
		link = &(*link)->next;
	return link;
}

static struct gs_live_total *total_of(uint8_t live_class, uint8_t device)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return &totals[live_class][device];
}

static void total_add(const struct gs_live *entry)
{
	struct gs_live_total *total = total_of(entry->live_class, entry->device);

	total->bytes += entry->size_bytes;
	total->count++;
	total->total_count++;
	if (total->bytes > total->peak_bytes)
		total->peak_bytes = total->bytes;
	if (total->count > total->peak_count)
		total->peak_count = total->count;
}

static void total_subtract(const struct gs_live *entry)
{
	struct gs_live_total *total = total_of(entry->live_class, entry->device);

	total->bytes -= entry->size_bytes;
	total->count--;
}

static bool live_put(const struct gs_live *entry)
{
	struct node **link;

	if (entry_count >= bucket_count && !buckets_grow() && bucket_count == 0)
		return false;
	link = link_of(entry->live_class, entry->address);
	if (*link == NULL) {
		*link = gsb_fault(GSB_FAULT_LIVE) ? NULL : gsb_slab_take_dirty(&nodes);
		if (*link == NULL)
			return false;
		(*link)->next = NULL;
		entry_count++;
	} else {
		total_subtract(&(*link)->entry);
	}
	(*link)->entry = *entry;
	total_add(entry);
	return true;
}

void gs_live_add(const struct gs_live *entry)
{
	if (entry->live_class >= GS_LIVE_CLASS_COUNT)
		return;
	gsb_lock_acquire(&lock);
	if (!live_put(entry))
		dropped++;
	gsb_lock_release(&lock);
}

static void live_take(struct node **link, struct gs_live *ret_entry)
{
	struct node *node = *link;

	gsb_debug_assert(gsb_lock_held(&lock));
	*ret_entry = node->entry;
	total_subtract(&node->entry);
	*link = node->next;
	gsb_slab_give(&nodes, node);
	entry_count--;
}

int gs_live_remove(enum gs_live_class live_class, uint64_t address, struct gs_live *ret_entry)
{
	int error = GS_E_NOT_FOUND;

	gsb_lock_acquire(&lock);
	if (bucket_count != 0) {
		struct node **link = link_of((uint8_t)live_class, address);

		if (*link != NULL) {
			live_take(link, ret_entry);
			error = GS_OK;
		}
	}
	gsb_lock_release(&lock);
	return error;
}

size_t gs_live_remove_owned(uint64_t owner, struct gs_live *ret_entries, size_t capacity)
{
	size_t count = 0;

	gsb_lock_acquire(&lock);
	for (size_t at = 0; at < bucket_count; at++) {
		struct node **link = &buckets[at];

		while (*link != NULL && count < capacity)
			if ((*link)->entry.owner == owner)
				live_take(link, &ret_entries[count++]);
			else
				link = &(*link)->next;
	}
	gsb_lock_release(&lock);
	return count;
}

struct gs_live_total gs_live_total(enum gs_live_class live_class, uint8_t device)
{
	struct gs_live_total total;

	gsb_lock_acquire(&lock);
	total = *total_of((uint8_t)live_class, device);
	gsb_lock_release(&lock);
	return total;
}

void gs_live_reset_peak(uint8_t device)
{
	gsb_lock_acquire(&lock);
	for (uint8_t live_class = 0; live_class < GS_LIVE_CLASS_COUNT; live_class++) {
		struct gs_live_total *total = total_of(live_class, device);

		total->peak_bytes = total->bytes;
		total->peak_count = total->count;
	}
	gsb_lock_release(&lock);
}

uint64_t gs_live_dropped(void)
{
	uint64_t count;

	gsb_lock_acquire(&lock);
	count = dropped;
	gsb_lock_release(&lock);
	return count;
}

void gs_live_walk(void (*visit)(void *user, const struct gs_live *entry), void *user)
{
	gsb_lock_acquire(&lock);
	for (size_t at = 0; at < bucket_count; at++)
		for (const struct node *node = buckets[at]; node != NULL; node = node->next)
			visit(user, &node->entry);
	gsb_lock_release(&lock);
}

void gs_live_reset_locks(void)
{
	gsb_lock_reset(&lock);
	/* Another thread may have been in the middle of a change, and nothing of this is alive in the child. */
	buckets = NULL;
	bucket_count = 0;
	entry_count = 0;
	memset(totals, 0, sizeof(totals));
}
