/* See ring.h. Each slot carries a sequence number: 0 never written, 2n+1 event n is being written, 2n+2 event n is
 * complete. A writer owns a slot from the moment it made the number odd; one that finds the slot owned by somebody
 * else, or already further, drops its event instead of waiting. So a slot never has two writers, and a reader that
 * sees the same even number before and after its copy has a whole event. A number that is nobody's event leaves the one
 * before it in the slot, by which it is found out when the slot is used again, or read. */
#include "shim/watch/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "report/ring_file.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/hot.h"
#include "shim/base/os.h"
#include "shim/core/counter.h"

#define EVENT_WORDS GS_RING_EVENT_WORDS
#define CAPACITY_MAX ((size_t)1 << 30)
#define SLOTS_AHEAD 4u /* which no cache has any more */

/* A run is at most so long, and no larger a part of the ring; who has not used it up by then gives the rest up. */
#define RUN_MOST 32u
#define RUN_SHARE 1024u
#define RUN_NS 32000

_Static_assert(sizeof(struct gs_event) == EVENT_WORDS * sizeof(uint64_t), "an event fills its slot");

GSB_BUSY static struct {
	struct gs_ring_slot *slots; /* fixed at init */
	uint64_t capacity;  /* power of two, or 0: no history; fixed at init */
	unsigned run_most;  /* fixed at init */
	_Alignas(64) _Atomic uint64_t end;
	_Alignas(64) _Atomic uint64_t missing; /* numbers whose slots were found without their event when they were used again */
	_Atomic uint64_t lost;	  /* events for which there was no slot */
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
	ring.run_most = 1;
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
	if (rounded / RUN_SHARE > 1)
		ring.run_most = rounded / RUN_SHARE < RUN_MOST ? (unsigned)(rounded / RUN_SHARE) : RUN_MOST;
	return GS_OK;
}

/* The thread's next number where others take some meanwhile, or did a moment ago. A run is twice as long as the last one if that
 * was used up soon and others came in between. */
static __attribute__((noinline)) uint64_t next_in_crowd(struct gs_ring_run *run, uint64_t time_ns)
{
	bool soon = (int64_t)(time_ns - run->since_ns) < RUN_NS;
	unsigned length = soon && run->met ? 2 * run->length : 1;
	uint64_t index;

	if (run->next != run->end && soon)
		return run->next++;
	if (length > ring.run_most)
		length = ring.run_most;
	index = atomic_fetch_add_explicit(&ring.end, length, memory_order_relaxed);
	run->met = index != run->end;
	run->crowded = run->met || length > 1;
	run->next = index + 1;
	run->end = index + length;
	run->since_ns = time_ns;
	run->length = length;
	for (unsigned ahead = 1; ahead < length && ahead < SLOTS_AHEAD; ahead++)
		__builtin_prefetch(&ring.slots[(index + ahead) & (ring.capacity - 1)], 1);
	return index;
}

static inline uint64_t next_number(uint64_t time_ns)
{
	struct gs_ring_run *run = gs_thread.counters != NULL ? &gs_thread.counters->run : NULL;
	uint64_t index;

	if (run != NULL && __builtin_expect(run->crowded, 0))
		return next_in_crowd(run, time_ns);
	index = atomic_fetch_add_explicit(&ring.end, 1, memory_order_relaxed);
	if (run == NULL)
		return index;
	if (__builtin_expect(index != run->end, 0)) {
		run->crowded = run->met = true;
		run->since_ns = time_ns;
		run->length = 1;
	}
	run->next = run->end = index + 1;
	return index;
}

/* Numbers before this one that its slot should have had events of, since it had one; number: the slot's. */
static uint64_t missing_before(uint64_t index, uint64_t number)
{
	uint64_t laps = index / ring.capacity;

	return number == 0 ? laps : laps - (number / 2 - 1) / ring.capacity - 1;
}

static void write_event(uint64_t index, const uint64_t words[EVENT_WORDS])
{
	struct gs_ring_slot *slot = &ring.slots[index & (ring.capacity - 1)];
	uint64_t before = atomic_load_explicit(&slot->number, memory_order_relaxed);

	if ((before & 1) != 0 || before > 2 * index ||
	    !atomic_compare_exchange_strong_explicit(&slot->number, &before, 2 * index + 1, memory_order_acquire,
						     memory_order_relaxed)) {
		atomic_fetch_add_explicit(&ring.lost, 1, memory_order_relaxed);
		return;
	}
	/* Release, so that a reader who sees a new word also sees the odd number. */
#pragma GCC unroll 6
	for (size_t at = 0; at < EVENT_WORDS; at++)
		atomic_store_explicit(&slot->words[at], words[at], memory_order_release);
	atomic_store_explicit(&slot->number, 2 * index + 2, memory_order_release);
	if (__builtin_expect(before + 2 * ring.capacity != 2 * index + 2 && index >= ring.capacity, 0))
		atomic_fetch_add_explicit(&ring.missing, missing_before(index, before), memory_order_relaxed);
}

void gs_ring_add(const struct gs_event *event)
{
	uint64_t words[EVENT_WORDS], index;

	if (ring.capacity == 0)
		return;
	memcpy(words, event, sizeof(words));
	index = next_number(event->time_ns);
	write_event(index, words);
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

uint64_t gs_ring_added(uint64_t end)
{
	uint64_t missing = atomic_load_explicit(&ring.missing, memory_order_relaxed);

	for (uint64_t index = end > ring.capacity ? end - ring.capacity : 0; index < end; index++) {
		const struct gs_ring_slot *slot = &ring.slots[index & (ring.capacity - 1)];
		uint64_t number = atomic_load_explicit(&slot->number, memory_order_relaxed);

		number += number & 1;
		if (number < 2 * index + 2)
			missing += 1 + missing_before(index, number);
	}
	return end - missing + atomic_load_explicit(&ring.lost, memory_order_relaxed);
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
