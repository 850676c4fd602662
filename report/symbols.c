/* See symbols.h. */
#include "report/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libiberty/demangle.h>

/* An address that some frame of the model has, and the innermost symbol around it. */
struct place {
	uint64_t module;
	uint64_t address;  /* of the byte before the return address: within the call */
	uint64_t start;	   /* of the symbol */
	const char *name;  /* in the ELF file; mangled; NULL = none */
	char *plain;	   /* demangled, once it was asked for */
};

struct module_symbols {
	bool tried;
	int fd;
	Elf *elf;
	struct place *places;
	size_t count;
};

struct gsr_symbols {
	const struct gsr_model *model;
	struct place *places; /* by module and address, each once */
	size_t place_count;
	size_t count;
	struct module_symbols modules[];
};

static int by_address(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void places_collect(struct gsr_symbols *symbols)
{
	const struct gsr_model *model = symbols->model;
	size_t frames = GSR_ROWS(model, frames), count = 0, kept = 0;

	symbols->places = calloc(frames + 1, sizeof(*symbols->places));
	if (symbols->places == NULL)
		abort();
	for (size_t frame = 0; frame < frames; frame++)
		if (GSR_CELL(model, frames, module, frame) != 0)
			symbols->places[count++] =
			    (struct place){.module = GSR_CELL(model, frames, module, frame),
					   .address = GSR_CELL(model, frames, offset, frame) - 1};
	qsort(symbols->places, count, sizeof(*symbols->places), by_address);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || by_address(&symbols->places[kept - 1], &symbols->places[i]) != 0)
			symbols->places[kept++] = symbols->places[i];
	symbols->place_count = kept;
	for (size_t i = kept; i-- > 0;) {
		symbols->modules[symbols->places[i].module].places = &symbols->places[i];
		symbols->modules[symbols->places[i].module].count++;
	}
}

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
	places_collect(symbols);
	elf_version(EV_CURRENT);
	return symbols;
}

void gsr_symbols_drop(struct gsr_symbols *symbols)
{
	for (size_t i = 0; i < symbols->place_count; i++)
		free(symbols->places[i].plain);
	free(symbols->places);
	for (size_t i = 0; i < symbols->count; i++) {
		elf_end(symbols->modules[i].elf);
		if (symbols->modules[i].fd >= 0)
			close(symbols->modules[i].fd);
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

/* The first place at or after the address. */
static size_t place_from(const struct module_symbols *module, uint64_t address)
{
	size_t low = 0, high = module->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->places[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of several symbols around a place the one that begins last counts; of those, the last in the alphabet. */
static void symbol_offer(struct module_symbols *module, const GElf_Sym *symbol, size_t texts)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF)
		return;
	for (size_t i = place_from(module, symbol->st_value);
	     i < module->count && module->places[i].address - symbol->st_value < symbol->st_size; i++) {
		struct place *place = &module->places[i];

		name = elf_strptr(module->elf, texts, symbol->st_name);
		if (name == NULL || name[0] == '\0')
			return;
		if (place->name != NULL &&
		    (place->start > symbol->st_value ||
		     (place->start == symbol->st_value && strcmp(place->name, name) >= 0)))
			continue;
		place->start = symbol->st_value;
		place->name = name;
	}
}

static void section_symbols_add(struct module_symbols *module, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	if (data == NULL || header->sh_entsize == 0)
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++)
		symbol_offer(module, &symbol, header->sh_link);
}

/* Whether the file is there and is the module. Then it stays open. */
static bool file_use(struct module_symbols *module, const char *path, const char *build_id)
{
	struct stat stat;

	module->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (module->fd >= 0 && fstat(module->fd, &stat) == 0 && S_ISREG(stat.st_mode))
		module->elf = elf_begin(module->fd, ELF_C_READ_MMAP, NULL);
	if (module->elf != NULL && elf_kind(module->elf) == ELF_K_ELF && build_id_matches(module->elf, build_id))
		return true;
	elf_end(module->elf);
	module->elf = NULL;
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	return false;
}

/* Below root: where it was, beside all others, or by its build-id as debuggers keep them; then where it was. A file by another name
 * than its own must have a build-id to be the one. */
static bool file_find(struct module_symbols *module, const char *root, const char *path, const char *build_id)
{
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	char *below = NULL;
	bool found = false;

	for (unsigned way = 0; !found && root != NULL && way < 3; way++) {
		if (way == 2 && strlen(build_id) < 3)
			break;
		if (way == 0 ? asprintf(&below, "%s/%s", root, path) < 0
		    : way == 1 ? asprintf(&below, "%s/%s", root, name) < 0
			       : asprintf(&below, "%s/.build-id/%.2s/%s.debug", root, build_id, build_id + 2) < 0)
			abort();
		found = file_use(module, below, build_id);
		free(below);
	}
	return found || (path[0] == '/' && file_use(module, path, build_id));
}

static void module_load(struct module_symbols *module, const char *root, const char *path, const char *build_id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	module->tried = true;
	if (!file_find(module, root, path, build_id))
		return;
	while ((section = elf_nextscn(module->elf, section)) != NULL)
		if (gelf_getshdr(section, &header) != NULL &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			section_symbols_add(module, section, &header);
}

const char *gsr_symbols_find(struct gsr_symbols *symbols, uint64_t module_id, uint64_t return_offset,
			     uint64_t *ret_distance)
{
	const struct gsr_model *model = symbols->model;
	struct module_symbols *module = &symbols->modules[module_id];
	struct place *place;
	size_t at;

	if (!module->tried)
		module_load(module, model->root, gsr_string(model, GSR_CELL(model, modules, path, module_id)),
			    gsr_string(model, GSR_CELL(model, modules, build_id, module_id)));
	at = place_from(module, return_offset - 1);
	if (at == module->count || module->places[at].address != return_offset - 1 || module->places[at].name == NULL)
		return NULL;
	place = &module->places[at];
	*ret_distance = return_offset - place->start;
	if (place->plain == NULL)
		place->plain = cplus_demangle(place->name, DMGL_AUTO);
	return place->plain != NULL ? place->plain : place->name;
}
