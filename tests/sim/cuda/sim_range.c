/* The table of ranges, a sorted array: see sim_range.h. */
#include "tests/sim/cuda/sim_range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_shadow.h"
#include "tests/sim/cuda/sim_vmm.h"

static struct sim_range **ranges;
static size_t range_count;
static size_t range_capacity;
static uint64_t next_buffer_id = 1;

/* Index of the first range that ends above the address, with what belongs to its block. */
static size_t index_above(uintptr_t address)
{
	size_t low = 0, high = range_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges[middle]->start + ranges[middle]->whole_bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t sim_range_count(void)
{
	return range_count;
}

struct sim_range *sim_range_add(struct sim_range range)
{
	size_t at = index_above(range.start);
	struct sim_range *kept = malloc(sizeof(*kept));

	if (range_count == range_capacity) {
		range_capacity = range_capacity ? range_capacity * 2 : 256;
		ranges = realloc(ranges, range_capacity * sizeof(struct sim_range *));
	}
	if (!kept || !ranges)
		abort();
	memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(struct sim_range *));
	ranges[at] = kept;
	range_count++;
	*kept = range;
	kept->buffer_id = next_buffer_id++;
	if (!kept->whole_bytes)
		kept->whole_bytes = kept->size_bytes;
	return kept;
}

uint64_t sim_range_newest(void)
{
	return next_buffer_id - 1;
}

void sim_range_remove(struct sim_range *range)
{
	size_t at = index_above(range->start);

	range_count--;
	memmove(&ranges[at], &ranges[at + 1], (range_count - at) * sizeof(struct sim_range *));
	sim_shadow_forget(range->start, range->start + range->whole_bytes);
	free(range);
}

struct sim_range *sim_range_above(uintptr_t address)
{
	size_t at = index_above(address);

	return at < range_count ? ranges[at] : NULL;
}

static struct sim_range *range_holding(uintptr_t address, bool whole)
{
	struct sim_range *range = sim_range_above(address);
	uintptr_t end = range ? range->start + (whole ? range->whole_bytes : range->size_bytes) : 0;

	return range && range->start <= address && address < end ? range : NULL;
}

struct sim_range *sim_range_find(uintptr_t address)
{
	return range_holding(address, false);
}

static bool range_allows(const struct sim_range *range, bool write, const struct sim_device *device)
{
	uint8_t wanted = write ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;

	if (range->kind != SIM_RANGE_VMM)
		return true;
	for (int i = 0; i < SIM_DEVICES_MAX; i++) {
		if ((!device || device->ordinal == i) && range->access[i] >= wanted)
			return true;
	}
	return false;
}

static bool range_covers(uintptr_t start, size_t size_bytes, bool write, const struct sim_device *device, bool whole)
{
	uintptr_t end = start + size_bytes;
	const struct sim_range *range = range_holding(start, whole);

	if (!start)
		return false;
	if (!range)
		return !sim_vmm_reserved(start);
	while (range && range_allows(range, write, device)) {
		start = range->start + (whole ? range->whole_bytes : range->size_bytes);
		if (start >= end)
			return true;
		range = range_holding(start, whole);
	}
	return false;
}

bool sim_range_accessible(uintptr_t start, size_t size_bytes, bool write, const struct sim_device *device)
{
	return range_covers(start, size_bytes, write, device, false);
}

bool sim_range_mapped(uintptr_t start, size_t size_bytes, bool write)
{
	return range_covers(start, size_bytes, write, NULL, true);
}

bool sim_range_is_device(uintptr_t address)
{
	const struct sim_range *range = sim_range_find(address);

	return range && range->kind != SIM_RANGE_HOST && range->kind != SIM_RANGE_REGISTERED;
}

void sim_range_free(struct sim_range *range)
{
	if (range->kind == SIM_RANGE_DEVICE || range->kind == SIM_RANGE_MANAGED)
		sim_device_discharge(range->device, sim_pages_round(range->size_bytes));
	if (range->shared_fd)
		close(range->shared_fd);
	if (range->kind != SIM_RANGE_REGISTERED)
		sim_pages_unmap(range->start, range->size_bytes);
	sim_range_remove(range);
}

void sim_range_forget(const struct sim_ctx *ctx)
{
	size_t i = 0;

	while (i < range_count) {
		if (ranges[i]->ctx == ctx)
			sim_range_free(ranges[i]);
		else
			i++;
	}
}
