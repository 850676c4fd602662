/* See behind.h. The loader lists the program, what is preloaded, then what the program needs: the libraries behind us
 * end where the first of those, or libc, begins. A runtime among them serves only who is linked to it, because its
 * symbols have versions. */
#include "shim/api/behind.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/elf.h"

struct behind_search {
	const char *name;
	struct gsb_elf program;
	bool behind;
	void *address;
};

static bool ends_preloads(const struct gsb_elf *program, const struct gsb_elf *elf)
{
	const char *name = gsb_elf_name(elf);
	const char *needed = gsb_elf_needed(program, name);

	return (needed != NULL && strcmp(needed, name) == 0) || strcmp(name, "libc.so.6") == 0;
}

static bool behind_visit(void *user, const struct gsb_elf *elf)
{
	struct behind_search *search = user;

	if (search->program.end == 0)
		search->program = *elf;
	if (gsb_elf_holds(elf, gs_behind_symbol)) {
		search->behind = true;
		return false;
	}
	if (!search->behind || elf->symbols == NULL || elf->strings == NULL)
		return false;
	if (ends_preloads(&search->program, elf))
		return true;
	if (elf->soname != NULL && strncmp(elf->soname, "libcudart.so.", sizeof("libcudart.so.") - 1) == 0)
		return false;
	search->address = gsb_elf_symbol(elf, search->name);
	return search->address != NULL;
}

void *gs_behind_symbol(const char *name)
{
	struct behind_search search = {.name = name};

	gsb_elf_walk(behind_visit, &search);
	return search.address;
}
