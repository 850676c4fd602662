/* What the checking build of the shim (build/check/libgpushim.so) exports beside the shim itself: the walk over the
 * allocators' books, how much the driver has to hold for them, and the fault points of shim/base/fault.h, armed by a
 * program or by GPUSHIM_FAULT=POINT:PASSES:TIMES. The walk also runs at the end of the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator/lend.h"
#include "allocator/pinned_book.h"
#include "allocator/starts.h"
#include "allocator/types.h"
#include "shim/api/class.h"
#include "shim/api/cuda.h"
#include "shim/base/fault.h"
#include "shim/base/assert.h"
#include "shim/core/device.h"
#include "shim/core/fences.h"
#include "shim/core/host.h"
#include "shim/submit/submit.h"
#include "shim/watch/live.h"

GS_EXPORT unsigned gpushim_check_walk(void);
GS_EXPORT void gpushim_check_fences(void);
GS_EXPORT void gpushim_check_graphs(void);
GS_EXPORT unsigned gpushim_check_used(void);
GS_EXPORT void gpushim_check_noted(size_t *ret_now, size_t *ret_ever);
GS_EXPORT int gpushim_check_fault_arm(const char *point, unsigned passes, unsigned times);
GS_EXPORT unsigned gpushim_check_fault_fired(const char *point);

static const char *const point_names[] = {
#define POINT_NAME(name) #name,
    GSB_FAULTS_LIST(POINT_NAME)
#undef POINT_NAME
};

static enum gsb_fault_point point_find(const char *name)
{
	enum gsb_fault_point point = 0;

	while (point < GSB_FAULT_COUNT && strcmp(point_names[point], name) != 0)
		point++;
	return point;
}

static void entry_count(void *user, const struct gs_live *entry)
{
	(void)entry;
	++*(size_t *)user;
}

/* What is in the table of live addresses, and how many were to be put there, with those for which there was no room. */
void gpushim_check_noted(size_t *ret_now, size_t *ret_ever)
{
	size_t now = 0, counted = 0, ever = gs_live_dropped();

	gs_live_walk(entry_count, &now);
	for (enum gs_live_class live_class = 0; live_class < GS_LIVE_CLASS_COUNT; live_class++)
		for (unsigned device = 0; device <= UINT8_MAX; device++) {
			struct gs_live_total total = gs_live_total(live_class, (uint8_t)device);

			counted += total.count;
			ever += total.total_count;
		}
	gsb_assert(now == counted);
	*ret_now = now;
	*ret_ever = ever;
}

/* Ends the process where an equation does not hold. Returns the number of allocators. */
unsigned gpushim_check_walk(void)
{
	unsigned count = 0;

	for (CUdevice ordinal = 0; ordinal < GS_DEVICE_LIMIT; ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device == NULL)
			continue;
		gsa_check(device->allocator);
		count++;
	}
	return count;
}

enum { FENCES_MAX = 4096 };

static size_t fences_add(uint64_t *fences, size_t count, uint64_t value)
{
	gsb_assert(count < FENCES_MAX);
	fences[count] = value;
	return count + 1;
}

/* No fence and no event of one is lost. No other thread uses the allocators. */
void gpushim_check_fences(void)
{
	static uint64_t fences[FENCES_MAX];
	struct gsa_pinned *pinned = gs_host_known();
	size_t count = 0;

	for (CUdevice ordinal = 0; ordinal < GS_DEVICE_LIMIT; ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device == NULL)
			continue;
		for (const struct gsa_tag *tag = &device->allocator->streamless; tag != NULL; tag = tag->next)
			for (const struct gsa_fence *fence = tag->fences; fence != NULL; fence = fence->next)
				count = fences_add(fences, count, fence->value);
		for (const struct gsa_fence *fence = device->allocator->spent; fence != NULL; fence = fence->next)
			count = fences_add(fences, count, fence->value);
	}
	for (unsigned i = 0; pinned != NULL && i < pinned->fence_count; i++)
		count = fences_add(fences, count, pinned->fences[i].value);
	gs_fences_check(fences, count);
}

/* Ends the graphs that were made of launches, so that those which are left are the program's. */
void gpushim_check_graphs(void)
{
	gs_submit_drop_graphs();
}

static bool is_used(const struct gsa *allocator, const struct gsa_handle *handle)
{
	enum gsa_pool pool = handle->address < allocator->small_address ? GSA_POOL_LARGE : GSA_POOL_SMALL;
	const struct gsa_block *block = gsa_starts_find(&allocator->starts[pool], handle->address);

	while (block != NULL && block->address < handle->address + handle->size_bytes &&
	       block->state != GSA_BLOCK_LIVE && block->state != GSA_BLOCK_SHADOW)
		block = block->next;
	return block != NULL && block->address < handle->address + handle->size_bytes;
}

/* Physical handles and plain allocations with a live block in them: what cannot go back to the driver. No other thread
 * uses the allocators. */
unsigned gpushim_check_used(void)
{
	const struct gsa_handle *handle;
	const struct gsa_segment *segment;
	unsigned count = 0;

	for (CUdevice ordinal = 0; ordinal < GS_DEVICE_LIMIT; ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);
		struct gsa *allocator = device != NULL ? device->allocator : NULL;

		if (allocator == NULL)
			continue;
		gsb_lock_acquire(&allocator->lock);
		gsa_lend_end_all(allocator);
		gsb_lock_release(&allocator->lock);
		for (uint64_t at = 0; (handle = gsa_map_ceiling(&allocator->handles, at)) != NULL;
		     at = handle->address + handle->size_bytes)
			count += is_used(allocator, handle);
		for (uint64_t at = 0; (segment = gsa_map_ceiling(&allocator->segments, at)) != NULL;
		     at = segment->address + GSA_MAP_UNIT_BYTES)
			count += segment->kind == GSA_SEGMENT_PLAIN && segment->first->state == GSA_BLOCK_LIVE;
	}
	return count;
}

int gpushim_check_fault_arm(const char *name, unsigned passes, unsigned times)
{
	enum gsb_fault_point point = point_find(name);

	if (point == GSB_FAULT_COUNT)
		return -1;
	gsb_fault_arm(point, passes, times);
	return 0;
}

unsigned gpushim_check_fault_fired(const char *name)
{
	enum gsb_fault_point point = point_find(name);

	return point < GSB_FAULT_COUNT ? gsb_fault_fired(point) : 0;
}

static pid_t loaded_in;

__attribute__((constructor)) static void check_begin(void)
{
	const char *text = getenv("GPUSHIM_FAULT");
	unsigned passes, times;
	char name[32];

	loaded_in = getpid();
	if (text == NULL)
		return;
	if (sscanf(text, "%31[^:]:%u:%u", name, &passes, &times) != 3 ||
	    gpushim_check_fault_arm(name, passes, times) != 0) {
		fprintf(stderr, "GPUSHIM_FAULT=%s: wanted POINT:PASSES:TIMES\n", text);
		exit(2);
	}
}

/* Not in the child of a fork: another thread of the parent may have been amidst a change. */
__attribute__((destructor)) static void check_end(void)
{
	if (getpid() == loaded_in)
		gpushim_check_walk();
}
