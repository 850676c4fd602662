/* See attribute.h. One place for each attribute of each function: another one that needs it takes it. */
#include "shim/submit/attribute.h"

#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/submit/known.h"

#define SLOTS 1024u /* a power of two */

static struct gsb_lock lock = GSB_LOCK_INIT(QUEUE);
static struct {
	struct gs_attribute attribute; /* function NULL: free */
	int value;
} slots[SLOTS]; /* under the lock */

_Static_assert(sizeof(struct gs_attribute) == 16, "no padding: compared as bytes");

static uint32_t slot_of(const struct gs_attribute *attribute)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return (uint32_t)gs_known_hash(attribute, sizeof(*attribute)) & (SLOTS - 1);
}

bool gs_attribute_is(const struct gs_attribute *attribute, int value)
{
	uint32_t slot;
	bool is;

	gsb_lock_acquire(&lock);
	slot = slot_of(attribute);
	is = attribute->function != NULL &&
	     memcmp(&slots[slot].attribute, attribute, sizeof(*attribute)) == 0 && slots[slot].value == value;
	gsb_lock_release(&lock);
	return is;
}

void gs_attribute_keep(const struct gs_attribute *attribute, int value)
{
	uint32_t slot;

	gsb_lock_acquire(&lock);
	slot = slot_of(attribute);
	slots[slot].attribute = *attribute;
	slots[slot].value = value;
	gsb_lock_release(&lock);
}

static void slots_clear(void)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	memset(slots, 0, sizeof(slots));
}

void gs_attribute_forget(void)
{
	gsb_lock_acquire(&lock);
	slots_clear();
	gsb_lock_release(&lock);
}

void gs_attribute_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
