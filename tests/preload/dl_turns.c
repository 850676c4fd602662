/* Libraries that use the CUDA runtime by turns (argv[1..]): finding out whose runtime it is, which walks over all loaded
 * objects, is done once for each, not at each turn. Counts the walks, by standing in for the function that makes them. */
#include "tests/preload/own.h"

#include <link.h>

#define LIBRARIES_MAX 8

static unsigned long walks;

/* From the loader's own list, since looking the real one up would walk. Objects here are never unloaded. */
__attribute__((visibility("default"))) int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *info, size_t size_bytes,
									void *user),
							   void *user)
{
	unsigned long long objects = 0;
	int result = 0;

	walks++;
	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
		objects++;
	for (const struct link_map *map = _r_debug.r_map; map != NULL && result == 0; map = map->l_next) {
		const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
		struct dl_phdr_info info = {
			.dlpi_addr = map->l_addr,
			.dlpi_name = map->l_name,
			.dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff),
			.dlpi_phnum = header->e_phnum,
			.dlpi_adds = objects,
		};

		result = visit(&info, sizeof(info), user);
	}
	return result;
}

int main(int argc, char **argv)
{
	int (*give_back[LIBRARIES_MAX])(void *pointer), errors = 0;
	unsigned long before;

	if (argc < 3 || argc > LIBRARIES_MAX + 1)
		return 2;
	for (int i = 1; i < argc; i++) {
		*(void **)&give_back[i - 1] = dlsym(own_library(argv[i], RTLD_NOW | RTLD_LOCAL), "rt_free");
		errors += give_back[i - 1](NULL) != 0;
	}
	before = walks;
	for (int turn = 0; turn < 1000; turn++)
		errors += give_back[turn % (argc - 1)](NULL) != 0;
	printf("%d errors; %lu walks at first, %lu in 1000 turns\n", errors, before, walks - before);
	return 0;
}
