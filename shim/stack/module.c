/* See module.h. */
#include "shim/stack/module.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/text.h"
#include "shim/stack/intern.h"

#define BUILD_ID_BYTES_MAX 32u

/* Written in walks over the loaded objects, which never overlap. */
static _Atomic uint64_t seen_changes; /* gsb_elf_changes() of the last complete walk; 0 = none yet */
static _Atomic unsigned takeovers;
static _Atomic uint32_t walk_count;
static _Atomic uint32_t seen_in[GS_MODULES_MAX + 1]; /* number of the last walk that met the module */

static _Atomic uint32_t generation;
static _Atomic bool used[GS_MODULES_MAX + 1]; /* an address was found in it in this generation */

static uint32_t build_id_of(const struct gsb_elf *elf)
{
	char digits[2 * BUILD_ID_BYTES_MAX + 1];
	const unsigned char *bytes;
	size_t count = gsb_elf_build_id(elf, &bytes);
	struct gsb_text text;

	gsb_text_init(&text, digits, sizeof(digits));
	for (size_t at = 0; at < count && at < BUILD_ID_BYTES_MAX; at++)
		gsb_text_add(&text, "%02x", bytes[at]);
	return gs_string_intern_bytes(digits, text.length);
}

static uint32_t path_of(const struct gsb_elf *elf)
{
	char path[PATH_MAX];
	ssize_t length;

	if (elf->path[0] != '\0')
		return gs_string_intern(elf->path);
	length = readlink("/proc/self/exe", path, sizeof(path));
	return length <= 0 ? 0 : gs_string_intern_bytes(path, (size_t)length);
}

/* The newest module that shares an address with start..end; 0 = none. */
static uint32_t newest_overlap(uint64_t start, uint64_t end, struct gs_module *ret_module)
{
	struct gs_module module;

	for (uint32_t at = (uint32_t)gs_module_count(); --at > 0;) {
		gs_module_read(at, &module);
		if (module.start < end && start < module.end) {
			*ret_module = module;
			return at;
		}
	}
	return 0;
}

/* user: number of this walk, 0 until it begins. */
static bool module_enter(void *user, const struct gsb_elf *elf)
{
	struct gs_module known, module = {.base = elf->base, .start = elf->start, .end = elf->end};
	uint32_t *walk = user, overlap, number;

	if (*walk == 0)
		*walk = atomic_fetch_add_explicit(&walk_count, 1, memory_order_relaxed) + 1;
	if (elf->end == 0)
		return false;
	module.path = path_of(elf);
	module.build_id = build_id_of(elf);
	overlap = newest_overlap(elf->start, elf->end, &known);
	if (overlap != 0 && known.base == module.base && known.start == module.start && known.end == module.end &&
	    known.path == module.path && known.build_id == module.build_id) {
		atomic_store_explicit(&seen_in[overlap], *walk, memory_order_relaxed);
		return false;
	}
	if (overlap != 0)
		atomic_fetch_add_explicit(&takeovers, 1, memory_order_relaxed);
	if (gs_module_add(&module, &number) == GS_OK)
		atomic_store_explicit(&seen_in[number], *walk, memory_order_relaxed);
	return false;
}

/* Whether a module that was used has gone: the walk, and none after it, has met it. */
static bool some_gone(uint32_t walk)
{
	bool gone = false;

	for (uint32_t at = (uint32_t)gs_module_count(); --at > 0;)
		if (atomic_load_explicit(&used[at], memory_order_relaxed) &&
		    atomic_load_explicit(&seen_in[at], memory_order_relaxed) < walk &&
		    atomic_exchange_explicit(&used[at], false, memory_order_relaxed))
			gone = true;
	return gone;
}

unsigned gs_module_refresh(void)
{
	uint64_t changes = gsb_elf_changes();

	if (changes != atomic_load_explicit(&seen_changes, memory_order_relaxed)) {
		uint32_t walk = 0;

		gsb_elf_walk(module_enter, &walk);
		if (some_gone(walk))
			atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
		atomic_store_explicit(&seen_changes, changes, memory_order_relaxed);
	}
	return atomic_load_explicit(&takeovers, memory_order_relaxed);
}

uint32_t gs_module_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

uint32_t gs_module_of(uint64_t address, uint64_t *ret_base)
{
	struct gs_module module;
	uint32_t number = newest_overlap(address, address + 1, &module);

	*ret_base = number == 0 ? 0 : module.base;
	atomic_store_explicit(&used[number], true, memory_order_relaxed);
	return number;
}
