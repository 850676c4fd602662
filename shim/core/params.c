/* See params.h. Two open-addressed tables that never grow: of functions, where what finds no room is asked for again, and of
 * layouts, of which there are few. Layouts come from pages of our own and are never given back, so that work that was queued
 * may go on pointing to them; equal ones are one, so that a program that loads and unloads code for ever needs no more. */
#include "shim/core/params.h"

#include <stddef.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"

#define SLOTS 16384u   /* of functions; a power of two */
#define LAYOUTS 4096u  /* likewise */
#define PROBES 16u
#define CHUNK_BYTES (256u << 10)

static struct gsb_lock lock = GSB_LOCK_INIT(QUEUE);
static struct {
	CUfunction function; /* NULL: free */
	const struct gs_params *params;
} slots[SLOTS]; /* under the lock, like all that follows */
static bool slots_used;
static const struct gs_params *layouts[LAYOUTS];
static unsigned char *chunk;
static size_t chunk_left_bytes;

static const struct gs_params none; /* of a function that has no parameters, as far as the driver tells */

bool gs_params_known(void)
{
	return gs_driver.cuFuncGetParamInfo != NULL && gs_driver.cuKernelGetParamInfo != NULL;
}

static uint32_t slot_of(CUfunction function)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return (uint32_t)((uintptr_t)function * 0x9e3779b97f4a7c15u >> 40) & (SLOTS - 1);
}

static const struct gs_params *find(CUfunction function)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t slot = (slot_of(function) + i) & (SLOTS - 1);

		if (slots[slot].function == function)
			return slots[slot].params;
		if (slots[slot].function == NULL)
			break;
	}
	return NULL;
}

static void keep(CUfunction function, const struct gs_params *params)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t slot = (slot_of(function) + i) & (SLOTS - 1);

		if (slots[slot].function != NULL && slots[slot].function != function)
			continue;
		slots[slot].function = function;
		slots[slot].params = params;
		slots_used = true;
		return;
	}
}

static size_t bytes_of(uint32_t count)
{
	return sizeof(struct gs_params) + count * sizeof(struct gs_param);
}

static const struct gs_params *copy(const struct gs_params *params)
{
	size_t size_bytes = (bytes_of(params->count) + 15) & ~(size_t)15;
	unsigned char *place;

	if (chunk_left_bytes < size_bytes) {
		chunk = gsb_os_pages_map(CHUNK_BYTES);
		chunk_left_bytes = chunk != NULL ? CHUNK_BYTES : 0;
	}
	if (chunk_left_bytes < size_bytes)
		return NULL;
	place = chunk;
	chunk += size_bytes;
	chunk_left_bytes -= size_bytes;
	return memcpy(place, params, bytes_of(params->count));
}

/* The one layout that is like this. NULL: there is no room for it. */
static const struct gs_params *intern(const struct gs_params *params)
{
	uint32_t hash = params->count;

	for (uint32_t i = 0; i < params->count; i++)
		hash = (hash ^ (params->each[i].offset << 16) ^ params->each[i].size_bytes) * 0x9e3779b1u;
	for (uint32_t i = 0; i < PROBES; i++) {
		const struct gs_params **place = &layouts[((hash >> 16) + i) & (LAYOUTS - 1)];

		if (*place == NULL)
			return *place = copy(params);
		if ((*place)->count == params->count && memcmp(*place, params, bytes_of(params->count)) == 0)
			return *place;
	}
	return NULL;
}

static CUresult ask(CUfunction function, bool is_kernel, uint32_t index, size_t *ret_offset, size_t *ret_size)
{
	return is_kernel ? gs_driver.cuKernelGetParamInfo((CUkernel)function, index, ret_offset, ret_size)
			 : gs_driver.cuFuncGetParamInfo(function, index, ret_offset, ret_size);
}

/* The driver refuses a handle of the other kind, and a parameter that the kernel does not have: that with INVALID_VALUE, and
 * after any other error nobody knows whether more would have followed. Where it refuses the first one of either kind, the kernel
 * may have none, or the handle may be something else. */
static const struct gs_params *learn(CUfunction function)
{
	union {
		struct gs_params params;
		unsigned char bytes[sizeof(struct gs_params) + GS_PARAMS_LIMIT * sizeof(struct gs_param)];
	} found = {.params = {.count = 0}};
	const struct gs_params *params = &none;
	size_t offset, size;
	bool is_kernel = ask(function, false, 0, &offset, &size) != CUDA_SUCCESS;
	CUresult result;
	uint32_t count;

	while ((result = ask(function, is_kernel, found.params.count, &offset, &size)) == CUDA_SUCCESS) {
		count = found.params.count;
		if (count == GS_PARAMS_LIMIT || offset + size > GS_PARAMS_BYTES_LIMIT)
			return NULL;
		found.params.each[count].offset = (uint32_t)offset;
		found.params.each[count].size_bytes = (uint32_t)size;
		if (offset + size > found.params.size_bytes)
			found.params.size_bytes = (uint32_t)(offset + size);
		found.params.count++;
	}
	if (found.params.count != 0 && result != CUDA_ERROR_INVALID_VALUE)
		return NULL;
	gsb_lock_acquire(&lock);
	if (found.params.count != 0)
		params = intern(&found.params);
	if (params != NULL)
		keep(function, params);
	gsb_lock_release(&lock);
	return params;
}

const struct gs_params *gs_params_of(CUfunction function)
{
	const struct gs_params *params = NULL;

	if (!gs_params_known())
		return NULL;
	gsb_lock_acquire(&lock);
	params = find(function);
	gsb_lock_release(&lock);
	if (params == NULL)
		params = learn(function);
	return params != &none ? params : NULL;
}

static void slots_clear(void)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	if (slots_used)
		memset(slots, 0, sizeof(slots));
	slots_used = false;
}

void gs_params_forget(void)
{
	gsb_lock_acquire(&lock);
	slots_clear();
	gsb_lock_release(&lock);
}

void gs_params_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
