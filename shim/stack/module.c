/* See module.h. */
#include "shim/stack/module.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/stack/intern.h"

#define BUILD_ID_BYTES_MAX 32u

/* Written in walks over the loaded objects, which never overlap. */
static _Atomic uint64_t seen_changes; /* gsb_elf_changes() of the last complete walk; 0 = none yet */
static _Atomic unsigned takeovers;
static _Atomic uint32_t walk_count;
static _Atomic uint32_t seen_in[GS_MODULES_MAX + 1]; /* number of the last walk that met the module */

/* The modules of this walk and of the last one, in the order of the objects, which stays as it is when some come or go. */
static uint32_t met[2][GS_MODULES_MAX];
static uint32_t met_count[2];

struct walk {
	uint32_t number; /* 0 until it begins */
	uint32_t next;	 /* of those that the last one met */
};

static _Atomic uint32_t generation;
static _Atomic bool used[GS_MODULES_MAX + 1]; /* an address was found in it in this generation */

static uint32_t build_id_of(const struct gsb_elf *elf)
{
	static const char hex[] = "0123456789abcdef";
	char digits[2 * BUILD_ID_BYTES_MAX];
	const unsigned char *bytes;
	size_t count = gsb_elf_build_id(elf, &bytes), length = 0;

	for (size_t at = 0; at < count && at < BUILD_ID_BYTES_MAX; at++) {
		digits[length++] = hex[bytes[at] >> 4];
		digits[length++] = hex[bytes[at] & 15];
	}
	return gs_string_intern_bytes(digits, length);
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

static bool same(const struct gs_module *a, const struct gs_module *b)
{
	return a->base == b->base && a->start == b->start && a->end == b->end && a->path == b->path && a->build_id == b->build_id;
}

/* The module as the last walk met it: no newer one shares its addresses, for both would have to be loaded. 0: it did not. */
static uint32_t met_again(struct walk *walk, const struct gs_module *module)
{
	unsigned last = (walk->number - 1) % 2;
	struct gs_module known;

	for (uint32_t at = walk->next; at < met_count[last]; at++) {
		gs_module_read(met[last][at], &known);
		if (!same(&known, module))
			continue;
		walk->next = at + 1;
		return met[last][at];
	}
	return 0;
}

/* 0: there is no room for it. */
static uint32_t module_find(const struct gs_module *module)
{
	struct gs_module known;
	uint32_t number = newest_overlap(module->start, module->end, &known);

	if (number != 0 && same(&known, module))
		return number;
	if (number != 0)
		atomic_fetch_add_explicit(&takeovers, 1, memory_order_relaxed);
	return gs_module_add(module, &number) == GS_OK ? number : 0;
}

static void walk_begin(struct walk *walk)
{
	walk->number = atomic_fetch_add_explicit(&walk_count, 1, memory_order_relaxed) + 1;
	met_count[walk->number % 2] = 0;
}

static bool module_enter(void *user, const struct gsb_elf *elf)
{
	struct gs_module module = {.base = elf->base, .start = elf->start, .end = elf->end};
	struct walk *walk = user;
	uint32_t number, *count;

	if (walk->number == 0)
		walk_begin(walk);
	count = &met_count[walk->number % 2];
	if (elf->end == 0)
		return false;
	module.path = path_of(elf);
	module.build_id = build_id_of(elf);
	number = met_again(walk, &module);
	if (number == 0)
		number = module_find(&module);
	if (number == 0)
		return false;
	atomic_store_explicit(&seen_in[number], walk->number, memory_order_relaxed);
	if (*count < GS_MODULES_MAX)
		met[walk->number % 2][(*count)++] = number;
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
		struct walk walk = {0};

		gsb_elf_walk(module_enter, &walk);
		if (some_gone(walk.number))
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
