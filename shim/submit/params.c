/* See params.h. An open-addressed table that never grows: what finds no room is not known. Layouts come from pages of our
 * own and are never given back, so that work that was queued may go on pointing to them. */
#include "shim/submit/params.h"

#include <stddef.h>

#include "shim/api/driver.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"

#define SLOTS 16384u /* a power of two */
#define PROBES 16u
#define CHUNK_BYTES (256u << 10)

static struct gsb_lock lock = GSB_LOCK_INIT(QUEUE);
static struct {
	CUfunction function; /* NULL: free */
	const struct gs_params *params;
} slots[SLOTS]; /* under the lock, like all that follows */
static unsigned char *chunk;
static size_t chunk_left_bytes;

bool gs_params_known(void)
{
	return gs_driver.cuFuncGetParamInfo != NULL && gs_driver.cuKernelGetParamInfo != NULL;
}

static uint32_t slot_of(CUfunction function)
{
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
		return;
	}
}

static struct gs_params *room(uint32_t count)
{
	size_t size_bytes = (sizeof(struct gs_params) + count * 8 + 15) & ~(size_t)15;
	struct gs_params *params;

	if (chunk_left_bytes < size_bytes) {
		chunk = gsb_os_pages_map(CHUNK_BYTES);
		chunk_left_bytes = chunk != NULL ? CHUNK_BYTES : 0;
	}
	if (chunk_left_bytes < size_bytes)
		return NULL;
	params = (struct gs_params *)chunk;
	chunk += size_bytes;
	chunk_left_bytes -= size_bytes;
	return params;
}

static CUresult ask(CUfunction function, bool is_kernel, uint32_t index, size_t *ret_offset, size_t *ret_size)
{
	return is_kernel ? gs_driver.cuKernelGetParamInfo((CUkernel)function, index, ret_offset, ret_size)
			 : gs_driver.cuFuncGetParamInfo(function, index, ret_offset, ret_size);
}

/* The driver refuses a handle of the other kind, and a parameter that the kernel does not have. Where it refuses the first
 * one of either kind, the kernel may have none, or the handle may be something else. */
static const struct gs_params *learn(CUfunction function)
{
	struct {
		uint32_t offset, size_bytes;
	} each[GS_PARAMS_LIMIT];
	struct gs_params *params;
	uint32_t count = 0, end = 0;
	size_t offset, size;
	bool is_kernel = ask(function, false, 0, &offset, &size) != CUDA_SUCCESS;

	while (ask(function, is_kernel, count, &offset, &size) == CUDA_SUCCESS) {
		if (count == GS_PARAMS_LIMIT || offset + size > GS_PARAMS_BYTES_LIMIT)
			return NULL;
		each[count].offset = (uint32_t)offset;
		each[count].size_bytes = (uint32_t)size;
		end = offset + size > end ? (uint32_t)(offset + size) : end;
		count++;
	}
	if (count == 0)
		return NULL;
	gsb_lock_acquire(&lock);
	params = room(count);
	if (params != NULL) {
		params->count = count;
		params->size_bytes = end;
		for (uint32_t i = 0; i < count; i++) {
			params->each[i].offset = each[i].offset;
			params->each[i].size_bytes = each[i].size_bytes;
		}
		keep(function, params);
	}
	gsb_lock_release(&lock);
	return params;
}

const struct gs_params *gs_params_of(CUfunction function)
{
	const struct gs_params *params;

	gsb_lock_acquire(&lock);
	params = find(function);
	gsb_lock_release(&lock);
	return params != NULL ? params : learn(function);
}

void gs_params_forget(void)
{
	gsb_lock_acquire(&lock);
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i].function = NULL;
	gsb_lock_release(&lock);
}

void gs_params_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
