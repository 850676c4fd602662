/* An open-addressing hash of live handles: see sim_handle.h. */
#include "tests/sim/cuda/sim_handle.h"

#include <stdint.h>
#include <stdlib.h>

struct slot {
	const void *object; /* NULL = never used; &removed = was used */
	enum sim_kind kind;
};

static struct slot *slots;
static size_t slot_count; /* a power of two, at least twice used_count */
static size_t used_count; /* slots that are not NULL */
static const char removed;

static struct slot *slot_of(const void *object)
{
	size_t i = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15ull >> 20;

	while (slots[i & (slot_count - 1)].object && slots[i & (slot_count - 1)].object != object)
		i++;
	return &slots[i & (slot_count - 1)];
}

static void handles_grow(void)
{
	struct slot *old = slots;
	size_t old_count = slot_count, live = 0;

	for (size_t i = 0; i < old_count; i++)
		live += old[i].object && old[i].object != &removed;
	slot_count = live * 4 > old_count ? old_count * 2 : old_count ? old_count : 1024;
	slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		abort();
	used_count = 0;
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].object && old[i].object != &removed) {
			*slot_of(old[i].object) = old[i];
			used_count++;
		}
	}
	free(old);
}

void sim_handle_add(const void *object, enum sim_kind kind)
{
	struct slot *slot;

	if (used_count * 2 >= slot_count)
		handles_grow();
	slot = slot_of(object);
	used_count += !slot->object;
	*slot = (struct slot){object, kind};
}

void sim_handle_remove(const void *object)
{
	struct slot *slot = slot_of(object);

	if (slot->object)
		slot->object = &removed;
}

bool sim_handle_is(const void *object, enum sim_kind kind)
{
	const struct slot *slot = object && slot_count ? slot_of(object) : NULL;

	return slot && slot->object && slot->kind == kind;
}

size_t sim_handle_count(enum sim_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < slot_count; i++)
		count += slots[i].object && slots[i].object != &removed && slots[i].kind == kind;
	return count;
}
