/* See lookup.h. Rules, in this order: ask the real one first; replace only what came back; know a function by its
 * address, so that a name that means another function at another version is never confused; exact names only. */
#include "shim/api/lookup.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "shim/api/behind.h"
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/api/quick.h"
#include "shim/api/tool.h"
#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/submit/submit.h"
#include "shim/watch/sample.h"

#define TRAMPOLINES 1024 /* as many as doors.S makes */
#define TRAMPOLINE_BYTES 16

GSB_HOT _Atomic uint64_t gs_lookup_unloads;

/* Used by doors.S. */
void *(*gs_lookup_real_dlsym)(void *, const char *);
void *(*gs_lookup_real_dlvsym)(void *, const char *, const char *);

static int (*real_dlclose)(void *);

/* Called by doors.S. NULL: jump to the real one. */
void *gs_lookup_dlsym(void *handle, const char *name, const char *version, const void *caller);
void *gs_lookup_dlvsym(void *handle, const char *name, const char *version, const void *caller);
void *gs_lookup_unlisted(uint32_t number);

extern const char gs_trampoline_first[];

static struct gsb_lock trampoline_lock = GSB_LOCK_INIT(LIVE);
static void *_Atomic trampoline_real[TRAMPOLINES];
static _Atomic bool trampoline_captures[TRAMPOLINES]; /* it may begin a capture that no row tells of */
static _Atomic uint32_t trampoline_count;

/* What the program would reach without us. The dynamic linking functions live in libc since glibc 2.34, in libdl before. */
static void *symbol_behind(const char *name)
{
	static const char *const homes[] = {"libc.so.6", "libdl.so.2"};
	void *found = gs_behind_symbol(name);
	struct gsb_elf elf;

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) && found == NULL; i++)
		if (gsb_elf_named(homes[i], &elf) == GS_OK)
			found = gsb_elf_symbol(&elf, name);
	return found;
}

void gs_lookup_init(void)
{
	if (gs_lookup_real_dlsym != NULL)
		return;
	real_dlclose = (int (*)(void *))symbol_behind("dlclose");
	gs_lookup_real_dlvsym = symbol_behind("dlvsym");
	gs_lookup_real_dlsym = symbol_behind("dlsym");
}

bool gs_lookup_exempts(const struct gsb_elf *elf)
{
	static const char *const exempt[] = {"libcuda.so", "libgpushim.so", "libcupti.so", "libnvidia-",
					     "libnvperf",  "libsanitizer",  "libToolsInjection", "libcudadebugger"};
	const char *name = gsb_elf_name(elf);

	for (size_t i = 0; i < sizeof(exempt) / sizeof(exempt[0]); i++)
		if (strncmp(name, exempt[i], strlen(exempt[i])) == 0)
			return true;
	return false;
}

bool gs_lookup_is_exempt(const void *caller)
{
	struct gsb_elf elf;

	return gsb_elf_at(caller, &elf) == GS_OK && gs_lookup_exempts(&elf);
}

/* A row whose real function is this very address. A driver may use one function for several rows: then the one that
 * was asked for, by exported symbol or by name and kind of default stream. */
static int fn_by_address(const void *real, const char *name, bool per_thread)
{
	int found = GS_E_NOT_FOUND;
	unsigned best = 0;

	for (enum gs_fn fn = 0; fn < GS_FN_DRIVER_COUNT; fn++) {
		const struct gs_fn_info *info = &gs_fn_info[fn];
		unsigned fit = 1;

		if (gs_driver_slot(fn) != real)
			continue;
		if (strcmp(info->symbol, name) == 0)
			fit = 4;
		else if (strcmp(info->name, name) == 0)
			fit = info->per_thread == per_thread ? 3 : 2;
		if (fit > best) {
			found = (int)fn;
			best = fit;
		}
	}
	return found;
}

/* A trampoline in front of a driver function that the table does not list. */
static void *trampoline_for(void *real, const char *name)
{
	uint32_t count, number = TRAMPOLINES;

	gsb_lock_acquire(&trampoline_lock);
	count = atomic_load(&trampoline_count);
	for (uint32_t i = 0; i < count && number == TRAMPOLINES; i++)
		if (atomic_load(&trampoline_real[i]) == real)
			number = i;
	if (number == TRAMPOLINES && count < TRAMPOLINES) {
		number = count;
		atomic_store(&trampoline_real[number], real);
		atomic_store(&trampoline_captures[number], strstr(name, "Capture") != NULL);
		atomic_store(&trampoline_count, count + 1);
	}
	gsb_lock_release(&trampoline_lock);
	if (number == TRAMPOLINES) {
		gs_submit_stop("too many driver functions that are not listed");
		return real;
	}
	return (void *)(gs_trampoline_first + (size_t)number * TRAMPOLINE_BYTES);
}

void *gs_lookup_unlisted(uint32_t number)
{
	if (gs_mode() == GS_MODE_ACTIVE && gs_thread.inside == 0) {
		atomic_fetch_add_explicit(&gs_counter_unlisted, 1, memory_order_relaxed);
		gs_order_note_blocking();
		gs_order_note_legacy();
		if (GS_TO_HOST_UNLISTED)
			gs_order_note_to_host();
		if (GS_FLUSHES_UNLISTED)
			gs_submit_flush();
		if (atomic_load_explicit(&trampoline_captures[number], memory_order_relaxed))
			gs_order_capture_lost("a stream capture");
	}
	return atomic_load_explicit(&trampoline_real[number], memory_order_acquire);
}

static bool submits(enum gs_fn fn)
{
	static const bool classes[] = {
#define SUBMITS(name, key, timed, submits, to_host, takes, flushes, forgets, tells) [GS_CLASS_##name] = (submits),
		GS_CALL_CLASSES(SUBMITS)
#undef SUBMITS
	};

	return classes[gs_fn_info[fn].call_class];
}

/* A library of the driver's that gets the real function may do the program's work with it, which is not seen then. Tools only
 * look. */
static void exempted(int fn, const struct gsb_elf *caller)
{
	const char *name = gsb_elf_name(caller);

	if (fn >= 0 && submits((enum gs_fn)fn) && strncmp(name, "libnvidia-", strlen("libnvidia-")) == 0)
		gs_order_lost_sight(name);
}

void *gs_lookup_substitute(const char *name, bool per_thread, void *real, const void *caller)
{
	struct gsb_elf elf;
	int fn;

	if (!gs_driver_contains(real))
		return real;
	fn = fn_by_address(real, name, per_thread);
	if (gsb_elf_at(caller, &elf) == GS_OK && gs_lookup_exempts(&elf)) {
		exempted(fn, &elf);
		return real;
	}
	if (fn >= 0)
		return gs_fn_info[fn].entry;
	return trampoline_for(real, name);
}

/* Only names that begin as driver functions do are worth a look: "cud", "cub", "cur" are other libraries'. */
static bool may_be_ours(void *handle, const char *name)
{
	return handle != RTLD_NEXT && handle != RTLD_DEFAULT && name != NULL && name[0] == 'c' && name[1] == 'u' &&
	       name[2] >= 'A' && name[2] <= 'Z' && gs_mode() != GS_MODE_OFF;
}

/* With an explicit handle the caller does not matter to libc, so the real function may be asked from here first. A
 * failed look-up is repeated by the jump, so that dlerror says what libc would say. */
static void *substitute_for(const char *name, void *real, const void *caller)
{
	struct gsb_elf elf;
	void *substitute;

	if (real == NULL || gsb_elf_at(real, &elf) != GS_OK || elf.soname == NULL ||
	    strcmp(elf.soname, GS_DRIVER_SONAME) != 0 || !gs_call_ready())
		return NULL;
	substitute = gs_lookup_substitute(name, false, real, caller);
	return substitute != real ? substitute : NULL;
}

/* Who looks it up means to call it, and does so past us. */
static void note_tool(const char *name)
{
	if (name != NULL && name[0] == 'c' && name[1] == 'u' && name[2] == 'p' && gs_tool_asks(name)) {
		gs_sample_stop();
		gs_quick_stop();
		gs_submit_stop("a profiler looks on");
		gs_submit_flush();
	}
}

void *gs_lookup_dlsym(void *handle, const char *name, const char *version, const void *caller)
{
	(void)version;
	gs_lookup_init();
	note_tool(name);
	if (!may_be_ours(handle, name))
		return NULL;
	return substitute_for(name, gs_lookup_real_dlsym(handle, name), caller);
}

void *gs_lookup_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
	gs_lookup_init();
	note_tool(name);
	if (!may_be_ours(handle, name))
		return NULL;
	return substitute_for(name, gs_lookup_real_dlvsym(handle, name, version), caller);
}

GS_EXPORT int dlclose(void *handle)
{
	int result;

	gs_lookup_init();
	gs_driver_keep();
	atomic_fetch_add_explicit(&gs_lookup_unloads, 1, memory_order_release);
	gs_epoch_end();
	result = real_dlclose(handle);
	atomic_fetch_add_explicit(&gs_lookup_unloads, 1, memory_order_release);
	gs_epoch_end();
	return result;
}
