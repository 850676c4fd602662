/* See native.h.
 *
 * Nearly all stacks are walked by unwind.c; what follows is for the others, such as those below a signal handler.
 * libunwind remembers, by address and for ever, how to leave a frame, and then reads the stack unchecked. Where a
 * module was unloaded and another one took its addresses that memory is wrong and could crash the program; so from
 * the first such takeover on, backtrace() serves, which asks the loader each time (and is about ten times slower). */
#include "shim/stack/native.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/elf.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/stack/module.h"

#define LIBRARY "libunwind.so.8"
#define NEEDED_LIBRARY "liblzma.so.5"
#define CACHE_PER_THREAD 2 /* UNW_CACHE_PER_THREAD */

/* How many frames of this library may lie between the program and the walk. */
#define OWN_FRAMES_MAX 16u
/* And how many of the walk itself below those: tools put themselves in between. */
#define WALK_FRAMES_MAX 4

static atomic_flag load_begun = ATOMIC_FLAG_INIT;
static _Atomic bool loaded; /* what follows is constant from then on */
static int (*walk_libunwind)(void **addresses, int limit);
static struct gsb_elf own;

static _Atomic unsigned known_takeovers;

#ifdef __SANITIZE_THREAD__
/* libunwind locks a mutex while a thread ends, after ThreadSanitizer has forgotten the thread. */
static void *open_library(void)
{
	return NULL;
}
#else
/* The library as it lies in a folder relative to our own; NULL if it is not there. */
static void *open_beside(const char *own_path, const char *folder, const char *library)
{
	static char path[PATH_MAX]; /* one thread comes here, and may have little stack left for the loader */
	const char *slash = strrchr(own_path, '/');
	struct gsb_text text;

	if (slash == NULL)
		return NULL;
	gsb_text_init(&text, path, sizeof(path));
	gsb_text_add(&text, "%s", own_path);
	if (text.cut)
		return NULL;
	text.length = (size_t)(slash - own_path) + 1;
	gsb_text_add(&text, "%s%s", folder, library);
	return !text.cut && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Beside us (as installed), in gpushim/ below the link to us, in lib/ below us (as built), then the system's. Where the
 * system lacks what libunwind itself needs, our copy of that is opened first: the loader then finds it by name. */
static void *open_library(void)
{
	static const char *const folders[] = {"", "gpushim/", "lib/"};
	void *handle = NULL;
	Dl_info self;

	if (dladdr((void *)gs_native_walk, &self) != 0)
		for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && handle == NULL; i++) {
			handle = open_beside(self.dli_fname, folders[i], LIBRARY);
			if (handle == NULL && open_beside(self.dli_fname, folders[i], NEEDED_LIBRARY) != NULL)
				handle = open_beside(self.dli_fname, folders[i], LIBRARY);
		}
	if (handle == NULL)
		handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		dlerror();
	return handle;
}
#endif

static void load(void)
{
	void *handle = open_library(), *frame;

	backtrace(&frame, 1); /* the first call of it allocates, which may not happen below a signal handler */
	if (handle != NULL) {
		int (*set_caching)(void *space, int policy) = dlsym(handle, "_ULx86_64_set_caching_policy");
		void **local_space = dlsym(handle, "_ULx86_64_local_addr_space");

		walk_libunwind = dlsym(handle, "unw_backtrace");
		if (walk_libunwind != NULL && set_caching != NULL && local_space != NULL)
			set_caching(*local_space, CACHE_PER_THREAD);
	}
	gsb_elf_at((const void *)gs_native_walk, &own);
	gsb_log(GSB_LOG_INFO, "native stacks come from %s", walk_libunwind != NULL ? "libunwind" : "backtrace()");
	atomic_store_explicit(&loaded, true, memory_order_release);
}

static bool ready(void)
{
	if (atomic_load_explicit(&loaded, memory_order_acquire))
		return true;
	if (atomic_flag_test_and_set_explicit(&load_begun, memory_order_relaxed))
		return false;
	load();
	return true;
}

static bool is_own(const void *address)
{
	return (uintptr_t)address - own.start < own.end - own.start;
}

static size_t walk_by_library(uint64_t addresses[GS_NATIVE_FRAMES_MAX])
{
	void *frames[GS_NATIVE_FRAMES_MAX + OWN_FRAMES_MAX];
	int limit = (int)(sizeof(frames) / sizeof(frames[0])), count, first = 0;
	int cancel = gsb_os_cancel_hold(); /* libunwind probes memory by calls that are cancellation points */
	unsigned takeovers = gs_module_refresh();
	size_t kept = 0;

	atomic_store_explicit(&known_takeovers, takeovers, memory_order_relaxed);
	count = walk_libunwind != NULL && takeovers == 0 ? walk_libunwind(frames, limit) : backtrace(frames, limit);
	gsb_os_cancel_restore(cancel);
	while (first < count && first < WALK_FRAMES_MAX && !is_own(frames[first]))
		first++;
	while (first < count && is_own(frames[first]))
		first++;
	for (int at = first; at < count && kept < GS_NATIVE_FRAMES_MAX; at++)
		if (frames[at] != NULL)
			addresses[kept++] = (uint64_t)(uintptr_t)frames[at];
	return kept;
}

bool gs_native_enter(struct gs_unwind *unwind, struct gs_place *ret_place)
{
	if (!ready())
		return false;
	gs_unwind_begin(unwind);
	return gs_unwind_enter(unwind, own.start, own.end, ret_place);
}

size_t gs_native_walk(struct gs_unwind *unwind, const struct gs_place *place, struct gs_trail *trail,
		      uint64_t addresses[GS_NATIVE_FRAMES_MAX])
{
	size_t count = 0;

	if (!ready())
		return 0;
	if (place != NULL)
		count = gs_unwind_walk(unwind, place, trail, addresses, GS_NATIVE_FRAMES_MAX);
	if (count != 0)
		return count;
	if (trail != NULL)
		gs_trail_spoil(trail);
	return walk_by_library(addresses);
}

const char *gs_native_name(void)
{
	if (!atomic_load_explicit(&loaded, memory_order_acquire))
		return "off";
	return walk_libunwind != NULL && atomic_load_explicit(&known_takeovers, memory_order_relaxed) == 0
		   ? "libunwind"
		   : "backtrace";
}
