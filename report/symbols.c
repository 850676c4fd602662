/* See symbols.h. */
#include "report/symbols.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libiberty/demangle.h>

struct symbol {
	uint64_t start, end; /* as linked */
	const char *name;    /* in the ELF file; mangled */
	char *plain;	     /* demangled, once it was asked for */
};

struct module_symbols {
	bool tried;
	int fd;
	Elf *elf;
	struct symbol *symbols; /* by start */
	size_t count, capacity;
};

struct gsr_symbols {
	const struct gsr_model *model;
	size_t count;
	struct module_symbols modules[];
};

struct gsr_symbols *gsr_symbols_new(const struct gsr_model *model)
{
	size_t count = GSR_ROWS(model, modules);
	struct gsr_symbols *symbols = calloc(1, sizeof(*symbols) + count * sizeof(symbols->modules[0]));

	if (symbols == NULL)
		abort();
	symbols->model = model;
	symbols->count = count;
	for (size_t i = 0; i < count; i++)
		symbols->modules[i].fd = -1;
	elf_version(EV_CURRENT);
	return symbols;
}

void gsr_symbols_drop(struct gsr_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		struct module_symbols *module = &symbols->modules[i];

		for (size_t j = 0; j < module->count; j++)
			free(module->symbols[j].plain);
		free(module->symbols);
		elf_end(module->elf);
		if (module->fd >= 0)
			close(module->fd);
	}
	free(symbols);
}

/* Whether the notes hold this build-id, given as hexadecimal digits. */
static bool notes_match(Elf_Data *notes, const char *build_id)
{
	GElf_Nhdr header;
	size_t at = 0, name_at, value_at;

	while ((at = gelf_getnote(notes, at, &header, &name_at, &value_at)) > 0) {
		const unsigned char *value = (const unsigned char *)notes->d_buf + value_at;
		const char *name = (const char *)notes->d_buf + name_at;

		if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		if (strlen(build_id) != 2 * (size_t)header.n_descsz)
			return false;
		for (size_t i = 0; i < header.n_descsz; i++)
			if (build_id[2 * i] != "0123456789abcdef"[value[i] >> 4] ||
			    build_id[2 * i + 1] != "0123456789abcdef"[value[i] & 15])
				return false;
		return true;
	}
	return false;
}

static bool build_id_matches(Elf *elf, const char *build_id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (build_id[0] == '\0')
		return true;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		Elf_Data *data;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(section, NULL);
		if (data != NULL && notes_match(data, build_id))
			return true;
	}
	return false;
}

static void symbol_add(struct module_symbols *module, const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || name == NULL ||
	    name[0] == '\0')
		return;
	if (module->count == module->capacity) {
		module->capacity = module->capacity == 0 ? 1024 : module->capacity * 2;
		module->symbols = realloc(module->symbols, module->capacity * sizeof(*module->symbols));
		if (module->symbols == NULL)
			abort();
	}
	module->symbols[module->count++] =
	    (struct symbol){.start = symbol->st_value, .end = symbol->st_value + symbol->st_size, .name = name};
}

static void section_symbols_add(struct module_symbols *module, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	if (data == NULL || header->sh_entsize == 0)
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++)
		symbol_add(module, &symbol, elf_strptr(module->elf, header->sh_link, symbol.st_name));
}

static int by_start(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	return a->start != b->start ? (a->start < b->start ? -1 : 1) : strcmp(a->name, b->name);
}

static void module_load(struct module_symbols *module, const char *path, const char *build_id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	struct stat stat;

	module->tried = true;
	module->fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (module->fd < 0 || fstat(module->fd, &stat) != 0 || !S_ISREG(stat.st_mode))
		return;
	module->elf = elf_begin(module->fd, ELF_C_READ_MMAP, NULL);
	if (module->elf == NULL || elf_kind(module->elf) != ELF_K_ELF || !build_id_matches(module->elf, build_id))
		return;
	while ((section = elf_nextscn(module->elf, section)) != NULL)
		if (gelf_getshdr(section, &header) != NULL &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			section_symbols_add(module, section, &header);
	if (module->count > 0)
		qsort(module->symbols, module->count, sizeof(*module->symbols), by_start);
}

const char *gsr_symbols_find(struct gsr_symbols *symbols, uint64_t module_id, uint64_t return_offset,
			     uint64_t *ret_distance)
{
	const struct gsr_model *model = symbols->model;
	struct module_symbols *module = &symbols->modules[module_id];
	uint64_t address = return_offset - 1; /* within the call */
	size_t low = 0, high;
	struct symbol *found;

	if (!module->tried)
		module_load(module, gsr_string(model, GSR_CELL(model, modules, path, module_id)),
			    gsr_string(model, GSR_CELL(model, modules, build_id, module_id)));
	high = module->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= module->symbols[low - 1].end)
		return NULL;
	found = &module->symbols[low - 1];
	*ret_distance = return_offset - found->start;
	if (found->plain == NULL)
		found->plain = cplus_demangle(found->name, DMGL_AUTO);
	return found->plain != NULL ? found->plain : found->name;
}
