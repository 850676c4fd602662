/* See runtime.h. Instances and the objects that call them are found without dlsym and kept for good: their number is
 * the number of CUDA runtimes and of libraries linked to them. */
#include "shim/api/runtime.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/api/behind.h"
#include "shim/api/lookup.h"
#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/core/thread.h"

#define RUNTIME_LIMIT 16 /* CUDA runtimes in one process */
#define CALLER_LIMIT 64	 /* objects that call them; more: the oldest is looked up again */

struct runtime_instance {
	uintptr_t base; /* load bias of the object that holds it */
	struct gs_runtime slots;
};

static struct gsb_lock runtime_lock = GSB_LOCK_INIT(BOOT);
static struct runtime_instance instances[RUNTIME_LIMIT];
static unsigned instance_count;

/* Objects that called before: of the process, under runtime_lock, and of the thread. PyTorch alone calls from four by
 * turns, and to find a runtime takes a millisecond. */
static struct gs_runtime_caller callers[CALLER_LIMIT];
static unsigned caller_next; /* replaced next */
_Thread_local struct gs_runtime_caller gs_runtime_callers[GS_RUNTIME_CALLERS] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned own_next __attribute__((tls_model("initial-exec")));

static const struct {
	enum gs_fn fn;
	size_t offset;
} slots[] = {
#define RT(symbol, suffix, parameters, arguments, disposition, call_class)                                             \
	{GS_FN_##symbol, offsetof(struct gs_runtime, symbol)},
#include "shim/api/runtime.def"
};

/* From 12 on a runtime makes a device's context current as soon as the device is chosen. */
static bool is_shared_runtime(const struct gsb_elf *home)
{
	static const char prefix[] = "libcudart.so.1";

	return home->soname != NULL && strncmp(home->soname, prefix, sizeof(prefix) - 1) == 0 &&
	       home->soname[sizeof(prefix) - 1] >= '2';
}

static void slots_fill(struct gs_runtime *runtime, const struct gsb_elf *home)
{
	bool own = is_shared_runtime(home);

	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		const char *name = gs_fn_info[slots[i].fn].symbol;
		void *function = gs_behind_symbol(name);

		*(void **)((char *)runtime + slots[i].offset) =
			function != NULL ? function : gsb_elf_symbol(home, name);
		own = own && function == NULL;
	}
	runtime->start = own ? home->start : 0;
	runtime->end = own ? home->end : 0;
}

/* The one at this place, else an unused one, else one whose object is gone; NULL if all are in use. */
static struct runtime_instance *instance_slot(uintptr_t base)
{
	struct gsb_elf elf;

	for (unsigned i = 0; i < instance_count; i++)
		if (instances[i].base == base)
			return &instances[i];
	if (instance_count < RUNTIME_LIMIT)
		return &instances[instance_count++];
	for (unsigned i = 0; i < RUNTIME_LIMIT; i++)
		if (gsb_elf_at((const void *)instances[i].slots.cudaMalloc, &elf) != GS_OK ||
		    elf.base != instances[i].base)
			return &instances[i];
	return NULL;
}

/* Another object may have taken the place of one that was unloaded; if not, nothing changes. */
static const struct gs_runtime *instance_in(const struct gsb_elf *home)
{
	struct runtime_instance *instance;
	struct gs_runtime found;

	slots_fill(&found, home);
	gsb_lock_acquire(&runtime_lock);
	instance = instance_slot(home->base);
	if (instance != NULL) {
		if (memcmp(&instance->slots, &found, sizeof(found)) != 0)
			instance->slots = found;
		instance->base = home->base;
	}
	gsb_lock_release(&runtime_lock);
	return instance != NULL ? &instance->slots : NULL;
}

/* Where the runtime of an object lives: in the object itself, in the shared runtime that it is linked to, or, for an
 * object that relies on the global scope, in the first one that was loaded. An object in front of us that defines
 * runtime functions got here by asking for the next ones. */
struct home_search {
	const struct gsb_elf *caller;
	const char *needed; /* NULL: no shared runtime */
	bool behind;
	struct gsb_elf itself, shared, first; /* end == 0: not found */
};

/* Tools that stand in front of single functions have neither. */
static bool holds_runtime(const struct gsb_elf *elf)
{
	return elf->symbols != NULL && elf->strings != NULL && gsb_elf_symbol(elf, "cudaMalloc") != NULL &&
	       (gsb_elf_symbol(elf, "cudaRuntimeGetVersion") != NULL ||
		gsb_elf_symbol(elf, "__cudaRegisterFatBinary") != NULL);
}

static bool home_visit(void *user, const struct gsb_elf *elf)
{
	struct home_search *search = user;

	if (gsb_elf_holds(elf, home_visit)) {
		search->behind = true;
		return false;
	}
	if (!search->behind || !holds_runtime(elf))
		return false;
	if (search->first.end == 0)
		search->first = *elf;
	if (elf->base == search->caller->base)
		search->itself = *elf;
	if (search->needed != NULL && elf->soname != NULL && strcmp(elf->soname, search->needed) == 0)
		search->shared = *elf;
	return false;
}

static int runtime_home(const struct gsb_elf *caller, struct gsb_elf *ret_home)
{
	struct home_search search = {.caller = caller, .needed = gsb_elf_needed(caller, "libcudart.so.")};

	gsb_elf_walk(home_visit, &search);
	*ret_home = search.itself.end != 0 ? search.itself : search.shared.end != 0 ? search.shared : search.first;
	return ret_home->end != 0 ? GS_OK : GS_E_NOT_FOUND;
}

static bool caller_recall(const void *caller, uint64_t unloads, struct gs_runtime_caller *ret_known)
{
	bool found = false;

	gsb_lock_acquire(&runtime_lock);
	for (unsigned i = 0; i < CALLER_LIMIT && !found; i++) {
		found = gs_runtime_fits(&callers[i], caller, unloads);
		if (found)
			*ret_known = callers[i];
	}
	gsb_lock_release(&runtime_lock);
	return found;
}

static bool caller_find(const void *caller, uint64_t unloads, struct gs_runtime_caller *ret_known)
{
	struct gs_runtime_caller known = {.unloads = unloads};
	struct gsb_elf object, home;

	if (gsb_elf_at(caller, &object) != GS_OK)
		memset(&object, 0, sizeof(object));
	if (runtime_home(&object, &home) == GS_OK)
		known.runtime = instance_in(&home);
	if (known.runtime == NULL)
		return false;
	known.start = object.start;
	known.end = object.end;
	gsb_lock_acquire(&runtime_lock);
	callers[caller_next++ % CALLER_LIMIT] = known;
	gsb_lock_release(&runtime_lock);
	*ret_known = known;
	return true;
}

const struct gs_runtime *gs_runtime_find(const void *caller, uint64_t unloads)
{
	struct gs_runtime_caller known;

	for (unsigned i = 0; i < GS_RUNTIME_CALLERS; i++)
		if (gs_runtime_fits(&gs_runtime_callers[i], caller, unloads))
			return gs_runtime_callers[i].runtime;
	if (!caller_recall(caller, unloads, &known) && !caller_find(caller, unloads, &known)) {
		gsb_log_once(GSB_LOG_ERROR, "a CUDA runtime function was called, but no libcudart is loaded");
		return NULL;
	}
	if (gs_thread.quick_unloads != unloads)
		gs_thread.quick_kinds = 0;
	gs_thread.quick_unloads = unloads;
	gs_runtime_callers[own_next++ % GS_RUNTIME_CALLERS] = known;
	return known.runtime;
}

const struct gs_runtime_caller *gs_runtime_caller_of(const void *caller)
{
	uint64_t unloads = atomic_load_explicit(&gs_lookup_unloads, memory_order_acquire);

	if (gs_runtime_find(caller, unloads) == NULL)
		return NULL;
	for (unsigned i = 0; i < GS_RUNTIME_CALLERS; i++)
		if (gs_runtime_fits(&gs_runtime_callers[i], caller, unloads))
			return &gs_runtime_callers[i];
	return NULL;
}

void gs_runtime_reset_locks(void)
{
	gsb_lock_reset(&runtime_lock);
}
