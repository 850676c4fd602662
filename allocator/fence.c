/* See fence.h. The lock is let go around every driver call; refs keep a fence, pins keep a tag meanwhile. */
#include "allocator/fence.h"

#include "allocator/aside.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

/* How often the driver is asked: on a device that has nothing to do it takes some microseconds to know. */
#define PATIENT_POLLS 32

bool gsa_fence_all_done(const struct gsa_ops *ops, void *device, bool wait)
{
	uint64_t fence;
	bool done = false;

	if (ops->fence_all(device, &fence) != GS_OK)
		return false;
	for (unsigned poll = 0; poll < PATIENT_POLLS && !done; poll++)
		done = ops->fence_poll(device, fence) > 0;
	if (wait && !done)
		done = ops->fence_wait(device, fence) == GS_OK;
	ops->fence_drop(device, fence);
	return done;
}

void gsa_fences_expire(struct gsa *allocator, struct gsa_tag *tag, uint64_t before)
{
	struct gsa_fence **link = &tag->fences;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	while (*link != NULL) {
		struct gsa_fence *fence = *link;

		if (fence->cover > before) {
			link = &fence->next;
			continue;
		}
		*link = fence->next;
		tag->fence_count--;
		fence->tag = NULL;
		if (fence->refs == 0) {
			fence->next = allocator->spent;
			allocator->spent = fence;
		}
	}
}

void gsa_fences_drain(struct gsa *allocator)
{
	struct gsa_fence *spent;

	gsb_lock_acquire(&allocator->lock);
	while ((spent = gsa_held(allocator)->spent) != NULL) {
		uint64_t value = spent->value;

		allocator->spent = spent->next;
		gsb_slab_give(&allocator->fence_slab, spent);
		gsb_lock_release(&allocator->lock);
		allocator->ops.fence_drop(allocator->device, value);
		gsb_lock_acquire(&allocator->lock);
	}
	gsb_lock_release(&allocator->lock);
}

static void fence_unref(struct gsa *allocator, struct gsa_fence *fence)
{
	if (--fence->refs > 0 || fence->tag != NULL)
		return;
	fence->next = allocator->spent;
	allocator->spent = fence;
}

/* A fence over all streams may not cover what is queued on one that ended before: that has a fence of its own. */
static void fence_done(struct gsa *allocator, struct gsa_fence *fence)
{
	struct gsa_tag *tag = fence->tag, *next;
	uint64_t cover = fence->cover;

	if (tag == NULL)
		return;
	if (tag != &allocator->streamless) {
		gsa_tag_idle(allocator, tag, cover);
		return;
	}
	for (; tag != NULL; tag = next) {
		next = tag->next;
		if (!tag->ending)
			gsa_tag_idle(allocator, tag, cover);
	}
}

/* Lock held; let go meanwhile. Returns the new fence, NULL when there is none; ret_error, if not NULL, says why. */
static struct gsa_fence *record(struct gsa *allocator, struct gsa_tag *tag, int *ret_error)
{
	struct gsa_fence *fence = gsb_slab_take(&allocator->fence_slab);
	struct gsa_fence **link = &tag->fences;
	struct gsa_stream stream = tag->stream;
	int error;

	stream.ending = tag->ending;

	if (fence == NULL) {
		*ret_error = GS_E_NO_HOST_MEMORY;
		return NULL;
	}
	fence->cover = allocator->free_serial;
	tag->pins++;
	gsb_lock_release(&allocator->lock);
	error = stream.id == 0 ? allocator->ops.fence_all(allocator->device, &fence->value)
			       : allocator->ops.fence_stream(allocator->device, &stream, &fence->value);
	gsa_acquire(allocator);
	tag->pins--;
	if (error != GS_OK) {
		gsb_slab_give(&allocator->fence_slab, fence);
		*ret_error = error;
		return NULL;
	}
	while (*link != NULL)
		link = &(*link)->next;
	*link = fence;
	fence->tag = tag;
	tag->fence_count++;
	if (fence->cover > tag->covered)
		tag->covered = fence->cover;
	allocator->stats.fences++;
	return fence;
}

/* Records for a tag, and deals with a stream that is gone. Lock held; let go meanwhile. The tag may be gone after, unless it is
 * pinned. */
static void record_or_orphan(struct gsa *allocator, struct gsa_tag *tag, bool ending)
{
	int error = GS_OK;

	if (record(allocator, tag, &error) == NULL && tag != &allocator->streamless &&
	    (ending || error == GS_E_NOT_FOUND))
		gsa_tag_orphan(allocator, tag);
	else
		gsa_tag_retire(allocator, tag);
}

/* Asks about its fences, until one is not done. Lock held; let go meanwhile. The tag is pinned. */
static void poll_tag(struct gsa *allocator, struct gsa_tag *tag)
{
	struct gsa_fence *fence;
	int answer = 1;

	while (answer == 1 && (fence = tag->fences) != NULL) {
		fence->refs++;
		gsb_lock_release(&allocator->lock);
		answer = allocator->ops.fence_poll(allocator->device, fence->value);
		gsa_acquire(allocator);
		if (answer == 1)
			fence_done(allocator, fence);
		fence_unref(allocator, fence);
	}
}

/* The next of all tags. The tag was pinned, and may be gone after. */
static struct gsa_tag *unpin(struct gsa *allocator, struct gsa_tag *tag)
{
	struct gsa_tag *next = tag->next;

	tag->pins--;
	gsa_tag_retire(allocator, tag);
	return next;
}

void gsa_fences_poll(struct gsa *allocator)
{
	gsa_acquire(allocator);
	for (struct gsa_tag *tag = &allocator->streamless; tag != NULL; tag = unpin(allocator, tag)) {
		tag->pins++;
		poll_tag(allocator, tag);
	}
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
}

static bool wants_fence(const struct gsa_tag *tag)
{
	return !tag->ending && tag->bytes > 0 && tag->newest->free_serial > tag->covered &&
	       tag->fence_count < GSA_TAG_FENCES_MAX;
}

static bool record_wanted(struct gsa *allocator, struct gsa_tag *tag, uint64_t least_bytes)
{
	if (tag->bytes < least_bytes || !wants_fence(tag))
		return false;
	record_or_orphan(allocator, tag, false);
	return true;
}

void gsa_fences_gather(struct gsa *allocator, uint64_t least_bytes)
{
	bool recorded = false;

	gsa_fences_poll(allocator);
	gsa_acquire(allocator);
	for (struct gsa_tag *tag = allocator->streamless.next; tag != NULL; tag = unpin(allocator, tag)) {
		tag->pins++;
		recorded = record_wanted(allocator, tag, least_bytes) || recorded;
	}
	/* Last: it takes what was freed on streams that are found to be gone. */
	recorded = record_wanted(allocator, &allocator->streamless, least_bytes) || recorded;
	gsb_lock_release(&allocator->lock);
	if (recorded)
		gsa_fences_poll(allocator);
}

void gsa_fences_early(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_tag *tag;

	gsa_acquire(allocator);
	tag = gsa_tag_find(allocator, stream_id);
	if (tag != NULL && wants_fence(tag))
		record_or_orphan(allocator, tag, false);
	gsb_lock_release(&allocator->lock);
}

bool gsa_fences_wait(struct gsa *allocator)
{
	struct gsa_fence *fence;
	int error = GS_OK;

	gsa_acquire(allocator);
	fence = record(allocator, &allocator->streamless, &error);
	if (fence != NULL) {
		fence->refs++;
		gsb_lock_release(&allocator->lock);
		error = allocator->ops.fence_wait(allocator->device, fence->value);
		gsa_acquire(allocator);
		if (error == GS_OK)
			fence_done(allocator, fence);
		fence_unref(allocator, fence);
	}
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
	return error == GS_OK;
}

void gsa_fences_stream_ending(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_tag *tag;

	gsa_acquire(allocator);
	tag = gsa_tag_find(allocator, stream_id);
	if (tag != NULL && !tag->ending) {
		tag->ending = true;
		tag->pins++;
		while (tag->pins > 1) {
			gsb_lock_release(&allocator->lock);
			gsb_os_nap();
			gsa_acquire(allocator);
		}
		if (tag->bytes > 0 && tag->newest->free_serial > tag->covered)
			record_or_orphan(allocator, tag, true);
		tag->pins--;
		gsa_tag_retire(allocator, tag);
	}
	/* Memory of no stream may be in use by this one; what is recorded later need not wait for a stream that is gone. */
	tag = &allocator->streamless;
	if (tag->bytes > 0 && tag->newest->free_serial > tag->covered)
		record_or_orphan(allocator, tag, false);
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
}
