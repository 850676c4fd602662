/* See args.h. Layouts are kept in a small table by function; one that finds no room takes the place of another. */
#include "shim/watch/args.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/lock.h"

#define FUNCTIONS 1024u
#define PARAMETERS 24u

/* What an address of a program or device may be. */
#define LOWEST (1ull << 16)
#define HIGHEST (1ull << 48)

struct parameter {
	uint16_t offset, size_bytes;
};

struct layout {
	CUfunction function; /* NULL = free */
	unsigned count;	     /* parameters, from the first on; larger ones have size 0 */
	struct parameter parameters[PARAMETERS];
};

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);
static struct layout layouts[FUNCTIONS]; /* guarded by lock */

static bool parameter_ask(CUfunction function, size_t index, size_t *ret_offset, size_t *ret_size)
{
	return (gs_driver.cuFuncGetParamInfo != NULL &&
		gs_driver.cuFuncGetParamInfo(function, index, ret_offset, ret_size) == CUDA_SUCCESS) ||
	       (gs_driver.cuKernelGetParamInfo != NULL &&
		gs_driver.cuKernelGetParamInfo((CUkernel)function, index, ret_offset, ret_size) == CUDA_SUCCESS);
}

static void layout_ask(CUfunction function, struct layout *ret_layout)
{
	size_t offset, size_bytes;

	*ret_layout = (struct layout){.function = function};
	while (ret_layout->count < PARAMETERS && parameter_ask(function, ret_layout->count, &offset, &size_bytes)) {
		bool known = size_bytes >= sizeof(uint64_t) && size_bytes <= GS_ARGS_LARGEST && offset <= UINT16_MAX;

		ret_layout->parameters[ret_layout->count++] =
			(struct parameter){known ? (uint16_t)offset : 0, known ? (uint16_t)size_bytes : 0};
	}
}

static void layout_of(CUfunction function, struct layout *ret_layout)
{
	struct layout *place = &layouts[((uintptr_t)function >> 4 ^ (uintptr_t)function >> 14) % FUNCTIONS];
	bool known;

	gsb_lock_acquire(&lock);
	known = place->function == function;
	if (known)
		*ret_layout = *place;
	gsb_lock_release(&lock);
	if (known)
		return;
	layout_ask(function, ret_layout);
	gsb_lock_acquire(&lock);
	*place = *ret_layout;
	gsb_lock_release(&lock);
}

/* The packed parameters that `extra` brings; NULL. */
static const char *packed(void *const *extra, size_t *ret_bytes)
{
	const char *buffer = NULL;

	*ret_bytes = 0;
	for (; extra != NULL && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
			*ret_bytes = *(const size_t *)extra[1];
		else
			return NULL;
	}
	return buffer;
}

static unsigned words_read(const char *from, size_t size_bytes, uint64_t *addresses, unsigned count, unsigned capacity)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= size_bytes && count < capacity; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, from + at, sizeof(word));
		if (word >= LOWEST && word < HIGHEST)
			addresses[count++] = word;
	}
	return count;
}

unsigned gs_args_addresses(CUfunction function, void *const *kernel_params, void *const *extra, uint64_t *addresses,
			   unsigned capacity)
{
	struct layout layout;
	size_t packed_bytes;
	const char *buffer;
	unsigned count = 0;

	layout_of(function, &layout);
	buffer = kernel_params == NULL ? packed(extra, &packed_bytes) : NULL;
	for (unsigned i = 0; i < layout.count; i++) {
		const struct parameter *parameter = &layout.parameters[i];

		if (parameter->size_bytes == 0)
			continue;
		if (kernel_params != NULL && kernel_params[i] != NULL)
			count = words_read(kernel_params[i], parameter->size_bytes, addresses, count, capacity);
		else if (buffer != NULL && (size_t)parameter->offset + parameter->size_bytes <= packed_bytes)
			count = words_read(buffer + parameter->offset, parameter->size_bytes, addresses, count, capacity);
	}
	return count;
}

void gs_args_code_gone(void)
{
	gsb_lock_acquire(&lock);
	memset(layouts, 0, sizeof(layouts));
	gsb_lock_release(&lock);
}

void gs_args_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
