/* See args.h. */
#include "shim/watch/args.h"

#include <stddef.h>
#include <string.h>

#include "shim/core/params.h"

/* What an address of a program or device may be. */
#define LOWEST (1ull << 16)
#define HIGHEST (1ull << 48)

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
	const struct gs_params *params = gs_params_of(function);
	size_t packed_bytes;
	const char *buffer = kernel_params == NULL ? packed(extra, &packed_bytes) : NULL;
	unsigned count = 0;

	for (uint32_t i = 0; params != NULL && i < params->count; i++) {
		const struct gs_param *param = &params->each[i];

		if (param->size_bytes > GS_ARGS_LARGEST)
			continue;
		if (kernel_params != NULL && kernel_params[i] != NULL)
			count = words_read(kernel_params[i], param->size_bytes, addresses, count, capacity);
		else if (buffer != NULL && (size_t)param->offset + param->size_bytes <= packed_bytes)
			count = words_read(buffer + param->offset, param->size_bytes, addresses, count, capacity);
	}
	return count;
}
