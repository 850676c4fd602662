/* Loaded ELF objects, read where they lie in memory: which one holds an address, what it needs, where a symbol is.
 *
 * Used where dlsym cannot be: to find libc's own dlsym behind our export of that name, and to look a function up in one
 * given library whatever else is preloaded. Takes no reference on the object: the caller knows that it stays loaded.
 * Neither allocates nor prints; dl_iterate_phdr takes the loader's lock. */
#ifndef GSB_ELF_H
#define GSB_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsb_elf {
	uintptr_t base;          /* load bias */
	uintptr_t start, end;    /* addresses covered by its loaded segments */
	const char *path;        /* as the loader knows it; "" for the main program */
	const Elf64_Phdr *headers;
	unsigned header_count;
	const Elf64_Dyn *dynamic;
	const Elf64_Sym *symbols;
	const char *strings;
	const uint32_t *gnu_hash; /* may be NULL */
	const uint32_t *hash;	  /* of System V; may be NULL. Without either no symbol can be found */
	const uint16_t *versions; /* NULL: unversioned */
	const char *soname;       /* NULL: has none */
};

/* Whether the address lies in it. */
static inline bool gsb_elf_holds(const struct gsb_elf *elf, const void *address)
{
	return (uintptr_t)address >= elf->start && (uintptr_t)address < elf->end;
}

/* The object that holds the address. GS_E_NOT_FOUND. */
int gsb_elf_at(const void *address, struct gsb_elf *ret_elf);

/* Visits the loaded objects in load order until visit returns true. It runs under the loader's lock, so two walks never
 * overlap. The result says whether one was stopped at. */
bool gsb_elf_walk(bool (*visit)(void *user, const struct gsb_elf *elf), void *user);

/* Loads and unloads so far: when this has not changed, neither has what gsb_elf_walk shows. A few nanoseconds. */
uint64_t gsb_elf_changes(void);

/* The first loaded object, in load order, whose soname (or, without one, file name) starts with the prefix. */
int gsb_elf_named(const char *prefix, struct gsb_elf *ret_elf);

/* The first of its DT_NEEDED names that starts with the prefix, or NULL. */
const char *gsb_elf_needed(const struct gsb_elf *elf, const char *prefix);

/* A function or object that it defines and exports, default version; NULL if there is none. */
void *gsb_elf_symbol(const struct gsb_elf *elf, const char *name);

/* The first loaded object, in load order and whatever its scope, for which gsb_elf_symbol finds the name; unlike dlsym
 * this leaves dlerror alone when there is none. GS_E_NOT_FOUND. */
int gsb_elf_defining(const char *name, struct gsb_elf *ret_elf, void **ret_address);

/* The bytes of its GNU build id; 0 = it has none. */
size_t gsb_elf_build_id(const struct gsb_elf *elf, const unsigned char **ret_bytes);

/* The last component of a path. */
const char *gsb_base_name(const char *path);

/* What it is called: by itself, or by its file. */
const char *gsb_elf_name(const struct gsb_elf *elf);

#endif
