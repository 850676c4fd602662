/* See ring.h. Each slot carries a sequence number: 0 never written, 2n+1 event n is being written, 2n+2 event n is
 * complete. A writer owns a slot from the moment it made the number odd; one that finds the slot owned by somebody
 * else, or already further, drops its event instead of waiting. So a slot never has two writers, and a reader that
 * sees the same even number before and after its copy has a whole event. */
#include "shim/watch/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "report/ring_file.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/os.h"

#define EVENT_WORDS GS_RING_EVENT_WORDS
#define CAPACITY_MAX ((size_t)1 << 30)
#define SLOTS_AHEAD 4u /* which no cache has any more */

_Static_assert(sizeof(struct gs_event) == EVENT_WORDS * sizeof(uint64_t), "an event fills its slot");

static struct {
	struct gs_ring_slot *slots; /* fixed at init */
	uint64_t capacity;  /* power of two, or 0: no history; fixed at init */
	_Atomic uint64_t end;
} ring;

size_t gs_ring_slots(size_t capacity)
{
	size_t rounded = 1;

	while (rounded < capacity && rounded < CAPACITY_MAX)
		rounded *= 2;
	return rounded;
}

void gs_ring_init_at(struct gs_ring_slot *slots, size_t count)
{
	ring.slots = slots;
	ring.capacity = count;
}

int gs_ring_init(size_t capacity)
{
	size_t rounded = gs_ring_slots(capacity);
	struct gs_ring_slot *slots;

	if (capacity == 0)
		return GS_OK;
	if (capacity > CAPACITY_MAX)
		return GS_E_INVALID;
	slots = gsb_fault(GSB_FAULT_RING) ? NULL : gsb_os_pages_map(rounded * sizeof(*slots));
	if (slots == NULL)
		return GS_E_NO_HOST_MEMORY;
	gsb_os_pages_prefer_large(slots, rounded * sizeof(*slots)); /* all of it is written once: few page faults then */
	gs_ring_init_at(slots, rounded);
	return GS_OK;
}

void gs_ring_add(const struct gs_event *event)
{
	uint64_t words[EVENT_WORDS], index, before;
	struct gs_ring_slot *slot;

	if (ring.capacity == 0)
		return;
	memcpy(words, event, sizeof(words));
	index = atomic_fetch_add_explicit(&ring.end, 1, memory_order_relaxed);
	slot = &ring.slots[index & (ring.capacity - 1)];
	before = atomic_load_explicit(&slot->number, memory_order_relaxed);
	if ((before & 1) != 0 || before > 2 * index ||
	    !atomic_compare_exchange_strong_explicit(&slot->number, &before, 2 * index + 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	/* Release, so that a reader who sees a new word also sees the odd number. */
	for (size_t at = 0; at < EVENT_WORDS; at++)
		atomic_store_explicit(&slot->words[at], words[at], memory_order_release);
	atomic_store_explicit(&slot->number, 2 * index + 2, memory_order_release);
	__builtin_prefetch(&ring.slots[(index + SLOTS_AHEAD) & (ring.capacity - 1)], 1);
}

uint64_t gs_ring_end(void)
{
	return atomic_load_explicit(&ring.end, memory_order_acquire);
}

uint64_t gs_ring_begin(void)
{
	uint64_t end = gs_ring_end();

	return end > ring.capacity ? end - ring.capacity : 0;
}

int gs_ring_read(uint64_t index, struct gs_event *ret_event)
{
	uint64_t words[EVENT_WORDS];
	const struct gs_ring_slot *slot;

	if (ring.capacity == 0)
		return GS_E_NOT_FOUND;
	slot = &ring.slots[index & (ring.capacity - 1)];
	if (atomic_load_explicit(&slot->number, memory_order_acquire) != 2 * index + 2)
		return GS_E_NOT_FOUND;
	for (size_t at = 0; at < EVENT_WORDS; at++)
		words[at] = atomic_load_explicit(&slot->words[at], memory_order_acquire);
	if (atomic_load_explicit(&slot->number, memory_order_relaxed) != 2 * index + 2)
		return GS_E_NOT_FOUND;
	memcpy(ret_event, words, sizeof(words));
	return GS_OK;
}
