/* See pinned.h. */
#include "allocator/pinned.h"

#include "allocator/fence.h"
#include "allocator/pinned_book.h"
#include "allocator/plain.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

/* A kept allocation serves a request when at most 1/PINNED_WASTE_SHARE of the request is wasted, and a page. */
#define PINNED_WASTE_SHARE 8u
#define PINNED_PAGE_BYTES 4096u

/* How often a fence just recorded is asked again: some microseconds of a driver's time. Then naps, as many as are
 * over before a new allocation would have been made: the driver takes some 450 ns for each KiB. */
#define PATIENT_POLLS 8u
#define NAP_BYTES (512u << 10)
#define NAPS_MAX 1000u

static struct pinned_block *fit(const struct gsa_bins *bins, uint64_t size_bytes)
{
	uint64_t most_bytes = size_bytes + size_bytes / PINNED_WASTE_SHARE + PINNED_PAGE_BYTES;
	struct gsa_block *entry = gsa_bins_fit(bins, size_bytes);

	return entry != NULL && entry->size_bytes <= most_bytes ? gsa_pinned_of(entry) : NULL;
}

/* --- Fences. One thread at a time asks the driver; the others go on as if nothing were done. The lock is held, and let
 * go around each call. */

static bool fences_begin(struct gsa_pinned *pinned)
{
	if (gsa_pinned_held(pinned)->fencing)
		return false;
	pinned->fencing = true;
	return true;
}

static void fences_poll(struct gsa_pinned *pinned)
{
	if (!fences_begin(pinned))
		return;
	while (pinned->fence_count > 0) {
		struct pinned_fence fence = pinned->fences[0];
		bool covers = fence.cover > pinned->idle_serial;

		gsb_lock_release(&pinned->lock);
		if (covers && pinned->ops.fence_poll(pinned->device, fence.value) != 1) {
			gsb_lock_acquire(&pinned->lock);
			break;
		}
		pinned->ops.fence_drop(pinned->device, fence.value);
		gsb_lock_acquire(&pinned->lock);
		pinned->fence_count--;
		for (unsigned i = 0; i < pinned->fence_count; i++)
			pinned->fences[i] = pinned->fences[i + 1];
		gsa_pinned_settle(pinned, fence.cover, fence.work);
	}
	pinned->fencing = false;
}

/* Records a fence if none that is under way covers the serial. */
static void fences_cover(struct gsa_pinned *pinned, uint64_t serial)
{
	struct pinned_fence fence = {.cover = pinned->free_serial};
	int error;

	if (pinned->fence_count == PINNED_FENCES_MAX ||
	    (pinned->fence_count > 0 && pinned->fences[pinned->fence_count - 1].cover >= serial) ||
	    !fences_begin(pinned))
		return;
	fence.work = gsa_pinned_work(pinned);
	gsb_lock_release(&pinned->lock);
	error = pinned->ops.fence_all(pinned->device, &fence.value);
	gsb_lock_acquire(&pinned->lock);
	if (error == GS_OK)
		pinned->fences[pinned->fence_count++] = fence;
	pinned->fencing = false;
}

/* The driver waits for the device when it takes memory back. True: that has done all it was given before now; it is waited for
 * if so asked. No lock held, nor plain_enter: what the device waits for may be what others do next. */
static bool all_done(struct gsa_pinned *pinned, bool wait)
{
	struct gsa_pinned_mark mark = gsa_pinned_mark(pinned);
	bool done = gsa_fence_all_done(&pinned->ops, pinned->device, wait);

	if (done)
		gsa_pinned_idle(pinned, mark);
	return done;
}

/* --- The life of an allocation */

static struct pinned_block *wait_for_fit(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind,
					 uint64_t size_bytes)
{
	uint64_t naps = size_bytes / NAP_BYTES, looks;
	struct pinned_class *class;
	struct pinned_block *block;

	looks = PATIENT_POLLS + (naps < NAPS_MAX ? naps : NAPS_MAX);
	for (uint64_t look = 0; look < looks; look++) {
		fences_poll(pinned);
		class = gsa_pinned_class_find(pinned, kind);
		if (class == NULL)
			return NULL;
		if ((block = fit(&class->idle, size_bytes)) != NULL)
			return block;
		if ((block = fit(&class->pending, size_bytes)) == NULL)
			return NULL;
		fences_cover(pinned, block->entry.free_serial);
		if (pinned->fence_count == 0)
			return NULL;
		if (look < PATIENT_POLLS)
			continue;
		gsb_lock_release(&pinned->lock);
		gsb_os_nap();
		gsb_lock_acquire(&pinned->lock);
	}
	return NULL;
}

int gsa_pinned_take(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		    struct gsa_pinned_info *ret_info)
{
	struct pinned_class *class;
	struct pinned_block *block = NULL;

	if (size_bytes > pinned->limit_bytes) /* nothing so large is kept, and no bin is made for it */
		return GS_E_NOT_FOUND;
	gsb_lock_acquire(&pinned->lock);
	class = gsa_pinned_class_find(pinned, kind);
	if (class != NULL && (block = fit(&class->idle, size_bytes)) == NULL)
		block = wait_for_fit(pinned, kind, size_bytes);
	if (block != NULL) {
		gsa_pinned_revive(pinned, block, size_bytes);
		gsa_pinned_describe(block, ret_info);
		pinned->stats.hits++;
	}
	gsb_lock_release(&pinned->lock);
	return block != NULL ? GS_OK : GS_E_NOT_FOUND;
}

void gsa_pinned_add(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		    uint64_t address)
{
	gsb_lock_acquire(&pinned->lock);
	gsa_pinned_enter(pinned, kind, size_bytes, address);
	gsb_lock_release(&pinned->lock);
}

/* The oldest kept block that may go; NULL. */
static struct pinned_block *oldest(struct gsa_pinned *pinned, bool pending_too)
{
	return gsa_pinned_held(pinned)->oldest == NULL || (!pending_too && pinned->oldest == pinned->first_pending)
		   ? NULL
		   : gsa_pinned_of(pinned->oldest);
}

/* Gives one kept block back. The lock is held, and let go meanwhile. Returns its size. */
static uint64_t give_back(struct gsa_pinned *pinned, struct pinned_block *block)
{
	uint64_t address = block->entry.address, size_bytes = block->entry.size_bytes;

	gsa_pinned_drop(pinned, block);
	pinned->stats.given_back++;
	gsb_lock_release(&pinned->lock);
	pinned->ops.plain_free(pinned->device, address);
	gsb_lock_acquire(&pinned->lock);
	return size_bytes;
}

static uint64_t trim(struct gsa_pinned *pinned, uint64_t keep_bytes, bool pending_too)
{
	struct pinned_block *block;
	uint64_t given_bytes = 0;

	while (pinned->stats.kept_bytes > keep_bytes && (block = oldest(pinned, pending_too)) != NULL)
		given_bytes += give_back(pinned, block);
	return given_bytes;
}

/* Something else goes back if it is kept. */
static bool crowds_out(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block;
	bool crowds;

	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_at(pinned, address);
	crowds = block != NULL && block->entry.size_bytes <= pinned->limit_bytes &&
		 pinned->stats.kept_bytes > pinned->limit_bytes - block->entry.size_bytes;
	gsb_lock_release(&pinned->lock);
	return crowds;
}

int gsa_pinned_free(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block;
	int error = GS_OK, entered;

	if (crowds_out(pinned, address))
		all_done(pinned, true);
	entered = gsa_plain_enter(&pinned->ops);
	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_at(pinned, address);
	if (block == NULL || block->state != PINNED_LIVE) {
		error = GS_E_NOT_FOUND;
	} else if (block->entry.size_bytes > pinned->limit_bytes) {
		error = GS_E_LIMIT;
	} else {
		gsa_pinned_keep(pinned, block);
		trim(pinned, pinned->limit_bytes, true);
	}
	gsb_lock_release(&pinned->lock);
	gsa_plain_leave(&pinned->ops, entered);
	return error;
}

void gsa_pinned_leave(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block;

	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_at(pinned, address);
	if (block != NULL && block->state == PINNED_LIVE)
		block->state = PINNED_LEAVING;
	gsb_lock_release(&pinned->lock);
}

void gsa_pinned_left(struct gsa_pinned *pinned, uint64_t address, bool done)
{
	struct pinned_block *block;

	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_at(pinned, address);
	if (block != NULL && block->state == PINNED_LEAVING) {
		if (done)
			gsa_pinned_drop(pinned, block);
		else
			block->state = PINNED_LIVE;
	}
	gsb_lock_release(&pinned->lock);
}

/* --- Questions */

int gsa_pinned_find(struct gsa_pinned *pinned, uint64_t address, struct gsa_pinned_info *ret_info)
{
	struct pinned_block *block;
	bool found;

	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_around(pinned, address);
	found = block != NULL && block->state == PINNED_LIVE;
	if (found)
		gsa_pinned_describe(block, ret_info);
	gsb_lock_release(&pinned->lock);
	return found ? GS_OK : GS_E_NOT_FOUND;
}

bool gsa_pinned_keeps(struct gsa_pinned *pinned, uint64_t address)
{
	struct pinned_block *block;
	bool keeps;

	gsb_lock_acquire(&pinned->lock);
	block = gsa_pinned_around(pinned, address);
	keeps = block != NULL && block->state == PINNED_KEPT;
	gsb_lock_release(&pinned->lock);
	return keeps;
}

void gsa_pinned_stats_read(struct gsa_pinned *pinned, struct gsa_pinned_stats *ret_stats)
{
	gsb_lock_acquire(&pinned->lock);
	*ret_stats = gsa_pinned_held(pinned)->stats;
	gsb_lock_release(&pinned->lock);
}

/* --- News, and giving back */

struct gsa_pinned_mark gsa_pinned_mark(struct gsa_pinned *pinned)
{
	struct gsa_pinned_mark mark;

	gsb_lock_acquire(&pinned->lock);
	mark = (struct gsa_pinned_mark){pinned->free_serial, gsa_pinned_work(pinned)};
	gsb_lock_release(&pinned->lock);
	return mark;
}

void gsa_pinned_idle(struct gsa_pinned *pinned, struct gsa_pinned_mark mark)
{
	gsb_lock_acquire(&pinned->lock);
	gsa_pinned_settle(pinned, mark.serial, mark.work);
	gsb_lock_release(&pinned->lock);
}

bool gsa_pinned_quiet(struct gsa_pinned *pinned)
{
	bool quiet;

	gsb_lock_acquire(&pinned->lock);
	quiet = gsa_pinned_no_work(pinned);
	gsb_lock_release(&pinned->lock);
	return quiet;
}

static struct pinned_block *kept_of(struct gsa_pinned *pinned, uint64_t owner)
{
	struct gsa_block *entry = gsa_pinned_held(pinned)->oldest;

	while (entry != NULL && gsa_pinned_of(entry)->class->kind.owner != owner)
		entry = entry->queue_next;
	return entry != NULL ? gsa_pinned_of(entry) : NULL;
}

void gsa_pinned_owner_ending(struct gsa_pinned *pinned, uint64_t owner)
{
	struct pinned_block *block;
	int entered = gsa_plain_enter(&pinned->ops);

	gsb_lock_acquire(&pinned->lock);
	while ((block = kept_of(pinned, owner)) != NULL)
		give_back(pinned, block);
	gsb_lock_release(&pinned->lock);
	gsa_plain_leave(&pinned->ops, entered);
}

void gsa_pinned_owner_gone(struct gsa_pinned *pinned, uint64_t owner)
{
	struct pinned_block *block;
	uint64_t at = 0;

	gsb_lock_acquire(&pinned->lock);
	while ((block = gsa_map_ceiling(&gsa_pinned_held(pinned)->blocks, at)) != NULL) {
		at = block->entry.address + GSA_MAP_UNIT_BYTES;
		if (block->class->kind.owner == owner)
			gsa_pinned_drop(pinned, block);
	}
	gsb_lock_release(&pinned->lock);
}

uint64_t gsa_pinned_trim(struct gsa_pinned *pinned, uint64_t keep_bytes, bool wait)
{
	struct gsa_pinned_stats stats;
	uint64_t given_bytes;
	int entered;

	gsa_pinned_stats_read(pinned, &stats);
	if (stats.kept_bytes <= keep_bytes || (!all_done(pinned, wait) && !wait))
		return 0;
	entered = gsa_plain_enter(&pinned->ops);
	gsb_lock_acquire(&pinned->lock);
	given_bytes = trim(pinned, keep_bytes, wait);
	gsb_lock_release(&pinned->lock);
	gsa_plain_leave(&pinned->ops, entered);
	return given_bytes;
}

uint64_t gsa_pinned_purge(struct gsa_pinned *pinned, uint64_t age_ns)
{
	uint64_t now_ns = pinned->ops.now_ns(pinned->device);
	struct pinned_block *block;
	uint64_t given_bytes = 0;
	int entered;
	bool old;

	gsb_lock_acquire(&pinned->lock);
	old = pinned->oldest != NULL && pinned->oldest->time_ns + age_ns <= now_ns;
	gsb_lock_release(&pinned->lock);
	if (!old || !all_done(pinned, false))
		return 0;
	entered = gsa_plain_enter(&pinned->ops);
	gsb_lock_acquire(&pinned->lock);
	while ((block = oldest(pinned, false)) != NULL && block->entry.time_ns + age_ns <= now_ns)
		given_bytes += give_back(pinned, block);
	gsb_lock_release(&pinned->lock);
	gsa_plain_leave(&pinned->ops, entered);
	return given_bytes;
}

/* --- The whole */

int gsa_pinned_init(struct gsa_pinned **ret_pinned, const struct gsa_ops *ops, void *device, uint64_t limit_bytes)
{
	struct gsa_pinned *pinned = gsb_os_pages_map(sizeof(*pinned));

	if (pinned == NULL)
		return GS_E_NO_HOST_MEMORY;
	pinned->ops = *ops;
	pinned->device = device;
	pinned->limit_bytes = limit_bytes;
	gsb_lock_init(&pinned->lock, GSB_RANK_ALLOCATOR);
	gsa_map_slabs_init(&pinned->map_slabs);
	gsb_slab_init(&pinned->block_slab, sizeof(struct pinned_block));
	*ret_pinned = pinned;
	return GS_OK;
}

void gsa_pinned_fini(struct gsa_pinned *pinned)
{
	gsa_pinned_trim(pinned, 0, true);
	while (pinned->fence_count > 0)
		pinned->ops.fence_drop(pinned->device, pinned->fences[--pinned->fence_count].value);
	gsb_os_pages_unmap(pinned, sizeof(*pinned));
}
