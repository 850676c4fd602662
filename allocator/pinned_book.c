/* See pinned_book.h. */
#include "allocator/pinned_book.h"

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

_Static_assert(offsetof(struct pinned_block, entry) == 0, "the bins know the entry alone");

static struct gsa_bins *bins_of(struct gsa_pinned *pinned, struct pinned_block *block)
{
	return block->entry.free_serial <= pinned->idle_serial ? &block->class->idle : &block->class->pending;
}

void gsa_pinned_describe(const struct pinned_block *block, struct gsa_pinned_info *ret_info)
{
	*ret_info = (struct gsa_pinned_info){
	    .address = block->entry.address,
	    .size_bytes = block->entry.asked_bytes,
	    .reserved_bytes = block->entry.size_bytes,
	    .serial = block->entry.serial,
	    .kind = block->class->kind,
	};
}

struct pinned_block *gsa_pinned_around(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block = gsa_map_floor(&gsa_pinned_held(pinned)->blocks, address);

	return block != NULL && address < gsa_block_end(&block->entry) ? block : NULL;
}

struct pinned_block *gsa_pinned_at(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block = gsa_map_find(&gsa_pinned_held(pinned)->blocks, address);

	return block != NULL && block->entry.address == address ? block : NULL;
}

struct pinned_class *gsa_pinned_class_find(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind)
{
	struct pinned_class *class = gsa_pinned_held(pinned)->classes;

	while (class != NULL && (class->kind.owner != kind->owner || class->kind.flags != kind->flags ||
				 class->kind.node != kind->node))
		class = class->next;
	return class;
}

static struct pinned_class *class_for(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind)
{
	struct pinned_class *class = gsa_pinned_class_find(pinned, kind);

	if (class != NULL)
		return class;
	class = gsb_os_pages_map(sizeof(*class));
	if (class == NULL)
		return NULL;
	class->kind = *kind;
	class->next = pinned->classes;
	pinned->classes = class;
	return class;
}

static void class_retire(struct gsa_pinned *pinned, struct pinned_class *class)
{
	struct pinned_class **link = &pinned->classes;

	if (class->block_count > 0)
		return;
	while (*link != class)
		link = &(*link)->next;
	*link = class->next;
	gsb_os_pages_unmap(class, sizeof(*class));
}

uint64_t gsa_pinned_work(struct gsa_pinned *pinned)
{
	return gsa_pinned_held(pinned)->ops.work_count != NULL ? pinned->ops.work_count(pinned->device, true)
							       : GSA_WORK_UNKNOWN;
}

bool gsa_pinned_no_work(struct gsa_pinned *pinned)
{
	uint64_t begun = GSA_WORK_UNKNOWN;

	if (gsa_pinned_held(pinned)->ops.work_count != NULL)
		begun = pinned->ops.work_count(pinned->device, false);
	return begun != GSA_WORK_UNKNOWN && begun == pinned->idle_work;
}

void gsa_pinned_settle(struct gsa_pinned *pinned, uint64_t serial, uint64_t work)
{
	struct gsa_block *entry;

	while ((entry = gsa_pinned_held(pinned)->first_pending) != NULL && entry->free_serial <= serial) {
		gsa_bins_remove(&gsa_pinned_of(entry)->class->pending, entry);
		gsa_bins_insert(&gsa_pinned_of(entry)->class->idle, entry);
		pinned->first_pending = entry->queue_next;
	}
	if (serial > pinned->idle_serial)
		pinned->idle_serial = serial;
	if (work != GSA_WORK_UNKNOWN && work > pinned->idle_work)
		pinned->idle_work = work;
}

void gsa_pinned_keep(struct gsa_pinned *pinned, struct pinned_block *block)
{
	struct gsa_block *entry = &block->entry;

	block->state = PINNED_KEPT;
	entry->free_serial = ++pinned->free_serial;
	entry->time_ns = pinned->ops.now_ns(pinned->device);
	entry->queue_prev = pinned->newest;
	entry->queue_next = NULL;
	if (pinned->newest != NULL)
		pinned->newest->queue_next = entry;
	else
		pinned->oldest = entry;
	pinned->newest = entry;
	if (pinned->first_pending == NULL)
		pinned->first_pending = entry;
	gsa_bins_insert(&block->class->pending, entry);
	pinned->stats.live_bytes -= entry->asked_bytes;
	pinned->stats.kept_bytes += entry->size_bytes;
	if (pinned->stats.kept_bytes > pinned->stats.kept_peak_bytes)
		pinned->stats.kept_peak_bytes = pinned->stats.kept_bytes;
	if (pinned->first_pending == entry && gsa_pinned_no_work(pinned))
		gsa_pinned_settle(pinned, entry->free_serial, pinned->idle_work);
}

/* No longer kept, still known. */
static void unkeep(struct gsa_pinned *pinned, struct pinned_block *block)
{
	struct gsa_block *entry = &block->entry;

	gsa_bins_remove(bins_of(pinned, block), entry);
	if (pinned->first_pending == entry)
		pinned->first_pending = entry->queue_next;
	if (entry->queue_prev != NULL)
		entry->queue_prev->queue_next = entry->queue_next;
	else
		pinned->oldest = entry->queue_next;
	if (entry->queue_next != NULL)
		entry->queue_next->queue_prev = entry->queue_prev;
	else
		pinned->newest = entry->queue_prev;
	pinned->stats.kept_bytes -= entry->size_bytes;
}

static void live(struct gsa_pinned *pinned, struct pinned_block *block, uint64_t size_bytes)
{
	block->state = PINNED_LIVE;
	block->entry.asked_bytes = size_bytes;
	block->entry.serial = ++pinned->serial;
	pinned->stats.live_bytes += size_bytes;
}

void gsa_pinned_revive(struct gsa_pinned *pinned, struct pinned_block *block, uint64_t size_bytes)
{
	unkeep(pinned, block);
	live(pinned, block, size_bytes);
}

void gsa_pinned_drop(struct gsa_pinned *pinned, struct pinned_block *block)
{
	struct pinned_class *class = block->class;

	if (block->state == PINNED_KEPT)
		unkeep(pinned, block);
	else
		pinned->stats.live_bytes -= block->entry.asked_bytes;
	gsa_map_remove(&pinned->blocks, &pinned->map_slabs, block->entry.address);
	gsb_slab_give(&pinned->block_slab, block);
	class->block_count--;
	class_retire(pinned, class);
}

void gsa_pinned_enter(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		      uint64_t address)
{
	struct pinned_block *block, *old;
	struct pinned_class *class;

	while ((old = gsa_map_floor(&gsa_pinned_held(pinned)->blocks, address + size_bytes - 1)) != NULL &&
	       gsa_block_end(&old->entry) > address)
		gsa_pinned_drop(pinned, old);
	class = class_for(pinned, kind);
	block = class != NULL ? gsb_slab_take(&pinned->block_slab) : NULL;
	if (block != NULL && gsa_map_insert(&pinned->blocks, &pinned->map_slabs, address, block) != GS_OK) {
		gsb_slab_give(&pinned->block_slab, block);
		block = NULL;
	}
	if (block != NULL) {
		block->class = class;
		block->entry.address = address;
		block->entry.size_bytes = size_bytes;
		class->block_count++;
		live(pinned, block, size_bytes);
	} else if (class != NULL) {
		class_retire(pinned, class);
	}
}

void gsa_pinned_check(struct gsa_pinned *pinned)
{
	struct pinned_block *block;
	uint64_t live_bytes = 0, kept_bytes = 0, queued_bytes = 0, last_serial = 0, at = 0;
	bool pending = false;

	gsb_lock_acquire(&pinned->lock);
	while ((block = gsa_map_ceiling(&gsa_pinned_held(pinned)->blocks, at)) != NULL) {
		gsb_assert(block->entry.address >= at);
		at = gsa_block_end(&block->entry);
		if (block->state == PINNED_KEPT)
			kept_bytes += block->entry.size_bytes;
		else
			live_bytes += block->entry.asked_bytes;
	}
	for (struct gsa_block *entry = pinned->oldest; entry != NULL; entry = entry->queue_next) {
		gsb_assert(entry->free_serial > last_serial && gsa_pinned_of(entry)->state == PINNED_KEPT);
		last_serial = entry->free_serial;
		queued_bytes += entry->size_bytes;
		if (entry->free_serial > pinned->idle_serial && !pending) {
			pending = true;
			gsb_assert(pinned->first_pending == entry);
		}
	}
	gsb_assert(pending || pinned->first_pending == NULL);
	gsb_assert(live_bytes == pinned->stats.live_bytes);
	gsb_assert(kept_bytes == pinned->stats.kept_bytes && queued_bytes == kept_bytes);
	gsb_assert(kept_bytes <= pinned->limit_bytes && last_serial <= pinned->free_serial);
	gsb_lock_release(&pinned->lock);
}
