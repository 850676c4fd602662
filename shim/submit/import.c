/* See import.h. What an object imports comes first in its table of symbols, before those that its hash table has. Objects whose
 * calls are the driver's own business are left out, as by lookups. */
#include "shim/submit/import.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/api/lookup.h"
#include "shim/base/elf.h"

static _Atomic uint64_t looked; /* gsb_elf_changes then */
static const char *_Atomic found;

static bool is_listed(const char *name)
{
	for (enum gs_fn fn = 0; fn < GS_FN_DRIVER_COUNT; fn++)
		if (strcmp(gs_fn_info[fn].symbol, name) == 0)
			return true;
	return false;
}

/* Copied, since the object may be unloaded. */
static void keep(const char *name)
{
	static char kept[64];
	static atomic_flag taken = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&taken))
		return;
	strncpy(kept, name, sizeof(kept) - 1);
	atomic_store(&found, kept);
}

static size_t strings_bytes(const struct gsb_elf *elf)
{
	const Elf64_Dyn *entry = elf->dynamic;

	while (entry->d_tag != DT_NULL && entry->d_tag != DT_STRSZ)
		entry++;
	return entry->d_tag == DT_STRSZ ? entry->d_un.d_val : 0;
}

/* The symbols to look at. One that exports nothing does not say how many it has: then the strings follow them. */
static size_t symbols_end(const struct gsb_elf *elf)
{
	const char *symbols = (const char *)elf->symbols;

	if (elf->gnu_hash != NULL && elf->gnu_hash[1] > 1)
		return elf->gnu_hash[1];
	if (elf->hash != NULL)
		return elf->hash[1];
	return elf->strings > symbols ? (size_t)(elf->strings - symbols) / sizeof(Elf64_Sym) : 0;
}

static bool imports_unlisted(void *user, const struct gsb_elf *elf)
{
	const struct gsb_elf *driver = user;

	if (elf->dynamic == NULL || elf->symbols == NULL || elf->strings == NULL || elf->start == driver->start ||
	    gs_lookup_exempts(elf))
		return false;
	for (size_t i = 1; i < symbols_end(elf) && elf->symbols[i].st_name < strings_bytes(elf); i++) {
		const char *name = elf->strings + elf->symbols[i].st_name;

		if (elf->symbols[i].st_shndx != SHN_UNDEF || name[0] != 'c' || name[1] != 'u' || name[2] < 'A' ||
		    name[2] > 'Z' || is_listed(name) || gsb_elf_symbol(driver, name) == NULL)
			continue;
		keep(name);
		return true;
	}
	return false;
}

const char *gs_import_unlisted(void)
{
	uint64_t changes = gsb_elf_changes();
	struct gsb_elf driver;

	if (changes == atomic_load(&looked))
		return atomic_load(&found);
	if (gsb_elf_named(GS_DRIVER_SONAME, &driver) == 0)
		gsb_elf_walk(imports_unlisted, &driver);
	atomic_store(&looked, changes);
	return atomic_load(&found);
}
