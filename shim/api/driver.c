/* See driver.h. */
#include "shim/api/driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/core/mode.h"

GSB_HOT struct gs_driver gs_driver;

static struct gsb_elf driver_elf;

static const uint16_t slot_offset[GS_FN_DRIVER_COUNT] = {
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	[GS_FN_##symbol] = offsetof(struct gs_driver, symbol),
#include "shim/api/driver.def"
};

static void **slot_at(enum gs_fn fn)
{
	return (void **)((char *)&gs_driver + slot_offset[fn]);
}

int gs_driver_error(CUresult result)
{
	if (result == CUDA_SUCCESS)
		return GS_OK;
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return GS_E_NO_MEMORY;
	return result == CUDA_ERROR_NOT_SUPPORTED ? GS_E_UNSUPPORTED : GS_E_DRIVER;
}

void *gs_driver_slot(enum gs_fn fn)
{
	return *slot_at(fn);
}

int gs_driver_find(struct gs_driver_found *ret_found)
{
	if (gsb_elf_named(GS_DRIVER_SONAME, &ret_found->elf) == GS_OK)
		return GS_OK;
	if (dlopen(GS_DRIVER_SONAME, RTLD_LAZY | RTLD_LOCAL) == NULL) {
		(void)dlerror();
		return GS_E_NOT_FOUND;
	}
	return gsb_elf_named(GS_DRIVER_SONAME, &ret_found->elf);
}

void gs_driver_use(const struct gs_driver_found *found)
{
	driver_elf = found->elf;
	for (enum gs_fn fn = 0; fn < GS_FN_DRIVER_COUNT; fn++)
		*slot_at(fn) = gsb_elf_symbol(&driver_elf, gs_fn_info[fn].symbol);
}

void gs_driver_keep(void)
{
	static _Atomic bool kept;

	if (gs_mode() != GS_MODE_DORMANT && !atomic_exchange(&kept, true) &&
	    dlopen(GS_DRIVER_SONAME, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == NULL)
		(void)dlerror();
}

bool gs_driver_contains(const void *address)
{
	return (uintptr_t)address >= driver_elf.start && (uintptr_t)address < driver_elf.end;
}
