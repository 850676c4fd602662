/* Profilers that ask libcupti to show them every call: their question is passed on, and runtime calls are not answered
 * at the door any more (H22). Libraries reach these entries because they are linked to libcupti; who looks the
 * functions up by name is noticed in shim/api/lookup.c. */
#include <stddef.h>
#include <string.h>

#include "shim/api/cuda.h"
#include "shim/api/quick.h"
#include "shim/api/tool.h"
#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/submit/submit.h"
#include "shim/watch/sample.h"

#define TOOL_PREFIX "libcupti.so."
#define TOOL_NOT_INITIALIZED 15 /* CUPTI_ERROR_NOT_INITIALIZED */

typedef int tool_fn(void *first, void *second, void *third, void *fourth);

static const char *const names[] = {
#define TOOL(symbol) #symbol,
#include "shim/api/tool.def"
};

bool gs_tool_asks(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* That of the library which the caller is linked to; else of the first one that is loaded. */
static tool_fn *real_of(const char *symbol, const void *caller)
{
	struct gsb_elf object, home;
	const char *needed = gsb_elf_at(caller, &object) == GS_OK ? gsb_elf_needed(&object, TOOL_PREFIX) : NULL;

	if ((needed == NULL || gsb_elf_named(needed, &home) != GS_OK) && gsb_elf_named(TOOL_PREFIX, &home) != GS_OK)
		return NULL;
	return (tool_fn *)gsb_elf_symbol(&home, symbol);
}

/* The parameters of all of them travel in registers, so that their number does not matter. */
#define TOOL(symbol)                                                                                                   \
	GS_EXPORT tool_fn symbol;                                                                                      \
	int symbol(void *first, void *second, void *third, void *fourth)                                               \
	{                                                                                                              \
		tool_fn *real = real_of(#symbol, __builtin_return_address(0));                                         \
                                                                                                                       \
		gs_sample_stop();                                                                                      \
		gs_quick_stop();                                                                                       \
		gs_submit_stop("a profiler looks on");                                                                 \
		gs_submit_flush();                                                                                     \
		return real != NULL ? real(first, second, third, fourth) : TOOL_NOT_INITIALIZED;                       \
	}
#include "shim/api/tool.def"
