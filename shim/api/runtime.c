/* See runtime.h. Instances and the objects that call them are found without dlsym and kept for good: their number is
 * the number of CUDA runtimes and of libraries linked to them. */
#include "shim/api/runtime.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"

#define RUNTIME_LIMIT 16 /* CUDA runtimes in one process */

struct runtime_instance {
	uintptr_t base; /* load bias of the object that holds it */
	struct gs_runtime slots;
};

static struct gsb_lock runtime_lock = GSB_LOCK_INIT(BOOT);
static struct runtime_instance instances[RUNTIME_LIMIT];
static unsigned instance_count;

/* The calling object of this thread's last call. */
static _Thread_local struct {
	uintptr_t start, end;
	const struct gs_runtime *runtime;
} last_caller __attribute__((tls_model("initial-exec")));

static const struct {
	enum gs_fn fn;
	size_t offset;
} slots[] = {
#define RT(symbol, suffix, parameters, arguments, disposition, call_class)                                             \
	{GS_FN_##symbol, offsetof(struct gs_runtime, symbol)},
#include "shim/api/runtime.def"
};

static const struct gs_runtime *instance_in(const struct gsb_elf *elf)
{
	struct runtime_instance *instance;

	for (unsigned i = 0; i < instance_count; i++)
		if (instances[i].base == elf->base)
			return &instances[i].slots;
	if (instance_count == RUNTIME_LIMIT)
		return NULL;
	instance = &instances[instance_count++];
	instance->base = elf->base;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		*(void **)((char *)&instance->slots + slots[i].offset) =
			gsb_elf_symbol(elf, gs_fn_info[slots[i].fn].symbol);
	return &instance->slots;
}

/* Where the runtime of an object lives: in the object itself, in the shared runtime that it is linked to, or, for an
 * object that relies on the global scope, in the first one that was loaded. Takes the loader's lock. */
static int runtime_home(const struct gsb_elf *caller, struct gsb_elf *ret_home)
{
	const char *needed = gsb_elf_needed(caller, "libcudart.so.");

	if (gsb_elf_symbol(caller, "cudaMalloc") != NULL) {
		*ret_home = *caller;
		return GS_OK;
	}
	if (needed != NULL && gsb_elf_named(needed, ret_home) == GS_OK)
		return GS_OK;
	return gsb_elf_named("libcudart.so.", ret_home);
}

static __attribute__((noinline)) const struct gs_runtime *runtime_find(const void *caller)
{
	const struct gs_runtime *runtime = NULL;
	struct gsb_elf object, home;

	if (gsb_elf_at(caller, &object) != GS_OK)
		memset(&object, 0, sizeof(object));
	if (runtime_home(&object, &home) == GS_OK) {
		gsb_lock_acquire(&runtime_lock);
		runtime = instance_in(&home);
		gsb_lock_release(&runtime_lock);
	}
	if (runtime == NULL) {
		gsb_log_once(GSB_LOG_ERROR, "a CUDA runtime function was called, but no libcudart is loaded");
		return NULL;
	}
	last_caller.start = object.start;
	last_caller.end = object.end;
	last_caller.runtime = runtime;
	return runtime;
}

const struct gs_runtime *gs_runtime_of(const void *caller)
{
	uintptr_t address = (uintptr_t)caller;

	if (address >= last_caller.start && address < last_caller.end)
		return last_caller.runtime;
	return runtime_find(caller);
}

void gs_runtime_reset_locks(void)
{
	gsb_lock_reset(&runtime_lock);
}
