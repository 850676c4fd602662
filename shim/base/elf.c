/* See elf.h. */
#include "shim/base/elf.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "shim/base/err.h"

const char *gsb_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

const char *gsb_elf_name(const struct gsb_elf *elf)
{
	return elf->soname != NULL ? elf->soname : gsb_base_name(elf->path);
}

/* The loader has already relocated the pointers of most objects' dynamic sections, but not those of the vdso. */
static uintptr_t relocated(const struct gsb_elf *elf, uintptr_t pointer)
{
	return pointer < elf->base ? pointer + elf->base : pointer;
}

static bool elf_read(const struct dl_phdr_info *info, struct gsb_elf *elf)
{
	const Elf64_Dyn *soname = NULL;

	memset(elf, 0, sizeof(*elf));
	elf->base = info->dlpi_addr;
	elf->start = UINTPTR_MAX;
	elf->path = info->dlpi_name != NULL ? info->dlpi_name : "";
	elf->headers = info->dlpi_phdr;
	elf->header_count = info->dlpi_phnum;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		uintptr_t start = elf->base + header->p_vaddr;

		if (header->p_type == PT_DYNAMIC)
			elf->dynamic = (const Elf64_Dyn *)start;
		if (header->p_type != PT_LOAD)
			continue;
		if (start < elf->start)
			elf->start = start;
		if (start + header->p_memsz > elf->end)
			elf->end = start + header->p_memsz;
	}
	if (elf->dynamic == NULL)
		return false;
	for (const Elf64_Dyn *entry = elf->dynamic; entry->d_tag != DT_NULL; entry++) {
		uintptr_t pointer = relocated(elf, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB:
			elf->symbols = (const Elf64_Sym *)pointer;
			break;
		case DT_STRTAB:
			elf->strings = (const char *)pointer;
			break;
		case DT_HASH:
			elf->hash = (const uint32_t *)pointer;
			break;
		case DT_GNU_HASH:
			elf->gnu_hash = (const uint32_t *)pointer;
			break;
		case DT_VERSYM:
			elf->versions = (const uint16_t *)pointer;
			break;
		case DT_SONAME:
			soname = entry;
			break;
		}
	}
	if (soname != NULL && elf->strings != NULL)
		elf->soname = elf->strings + soname->d_un.d_val;
	return elf->symbols != NULL && elf->strings != NULL;
}

struct elf_walk {
	bool (*visit)(void *user, const struct gsb_elf *elf);
	void *user;
};

static int walk_step(struct dl_phdr_info *info, size_t size, void *user)
{
	const struct elf_walk *walk = user;
	struct gsb_elf elf;

	(void)size;
	elf_read(info, &elf);
	return walk->visit(walk->user, &elf) ? 1 : 0;
}

bool gsb_elf_walk(bool (*visit)(void *user, const struct gsb_elf *elf), void *user)
{
	struct elf_walk walk = {visit, user};
	int saved_errno = errno;
	int stopped = dl_iterate_phdr(walk_step, &walk);

	errno = saved_errno;
	return stopped != 0;
}

static int changes_step(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	*(uint64_t *)user = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

uint64_t gsb_elf_changes(void)
{
	uint64_t changes = 0;

	dl_iterate_phdr(changes_step, &changes);
	return changes;
}

struct elf_search {
	uintptr_t address;  /* 0: search by name */
	const char *prefix;
	struct gsb_elf *ret_elf;
};

static int search_step(struct dl_phdr_info *info, size_t size, void *user)
{
	struct elf_search *search = user;
	struct gsb_elf elf;
	bool readable = elf_read(info, &elf);

	(void)size;
	if (search->address != 0) {
		if (search->address < elf.start || search->address >= elf.end)
			return 0;
	} else {
		if (!readable || strncmp(gsb_elf_name(&elf), search->prefix, strlen(search->prefix)) != 0)
			return 0;
	}
	*search->ret_elf = elf;
	return 1;
}

static int elf_search(struct elf_search *search)
{
	int saved_errno = errno;
	int found = dl_iterate_phdr(search_step, search);

	errno = saved_errno;
	return found ? GS_OK : GS_E_NOT_FOUND;
}

int gsb_elf_at(const void *address, struct gsb_elf *ret_elf)
{
	struct elf_search search = {.address = (uintptr_t)address, .ret_elf = ret_elf};

	return address == NULL ? GS_E_NOT_FOUND : elf_search(&search);
}

int gsb_elf_named(const char *prefix, struct gsb_elf *ret_elf)
{
	struct elf_search search = {.prefix = prefix, .ret_elf = ret_elf};

	return elf_search(&search);
}

const char *gsb_elf_needed(const struct gsb_elf *elf, const char *prefix)
{
	if (elf->dynamic == NULL || elf->strings == NULL)
		return NULL;
	for (const Elf64_Dyn *entry = elf->dynamic; entry->d_tag != DT_NULL; entry++) {
		const char *name = elf->strings + entry->d_un.d_val;

		if (entry->d_tag == DT_NEEDED && strncmp(name, prefix, strlen(prefix)) == 0)
			return name;
	}
	return NULL;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Bit 15 of a version index marks a version that is not the default one. */
static bool is_default_version(const struct gsb_elf *elf, uint32_t index)
{
	return elf->versions == NULL || (elf->versions[index] & 0x8000) == 0;
}

static bool defines(const struct gsb_elf *elf, uint32_t index, const char *name)
{
	const Elf64_Sym *symbol = &elf->symbols[index];

	return symbol->st_shndx != SHN_UNDEF && strcmp(elf->strings + symbol->st_name, name) == 0;
}

/* The index of the name's default version, or else of another one; 0: it is not defined. */
static uint32_t gnu_find(const struct gsb_elf *elf, const char *name)
{
	const uint32_t *table = elf->gnu_hash;
	uint32_t hash = gnu_hash_of(name), other_version = 0;

	if (table[0] == 0)
		return 0;

	uint32_t bucket_count = table[0], first_index = table[1], filter_words = table[2];
	const uint32_t *buckets = table + 4 + filter_words * 2;
	const uint32_t *chain = buckets + bucket_count;
	uint32_t index = buckets[hash % bucket_count];

	if (index < first_index)
		return 0;
	for (;; index++) {
		uint32_t entry = chain[index - first_index];

		if ((entry | 1) == (hash | 1) && defines(elf, index, name)) {
			if (is_default_version(elf, index))
				return index;
			other_version = index;
		}
		if (entry & 1)
			return other_version;
	}
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name != '\0'; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
	}
	return hash;
}

/* The same by the table of System V, for objects that have no other. */
static uint32_t find(const struct gsb_elf *elf, const char *name)
{
	uint32_t bucket_count = elf->hash[0], other_version = 0;
	const uint32_t *buckets = elf->hash + 2, *chain = buckets + bucket_count;

	if (bucket_count == 0)
		return 0;
	for (uint32_t index = buckets[hash_of(name) % bucket_count]; index != 0; index = chain[index]) {
		if (!defines(elf, index, name))
			continue;
		if (is_default_version(elf, index))
			return index;
		other_version = index;
	}
	return other_version;
}

void *gsb_elf_symbol(const struct gsb_elf *elf, const char *name)
{
	uint32_t index = 0;

	if (elf->gnu_hash != NULL)
		index = gnu_find(elf, name);
	else if (elf->hash != NULL)
		index = find(elf, name);
	return index != 0 ? (void *)(elf->base + elf->symbols[index].st_value) : NULL;
}

struct defining_search {
	const char *name;
	struct gsb_elf elf;
	void *address;
};

static bool defining_visit(void *user, const struct gsb_elf *elf)
{
	struct defining_search *search = user;

	if (elf->symbols == NULL || elf->strings == NULL)
		return false;
	search->elf = *elf;
	search->address = gsb_elf_symbol(elf, search->name);
	return search->address != NULL;
}

int gsb_elf_defining(const char *name, struct gsb_elf *ret_elf, void **ret_address)
{
	struct defining_search search = {.name = name};

	if (!gsb_elf_walk(defining_visit, &search))
		return GS_E_NOT_FOUND;
	*ret_elf = search.elf;
	*ret_address = search.address;
	return GS_OK;
}

static size_t padded(uint32_t size_bytes)
{
	return ((size_t)size_bytes + 3) & ~(size_t)3;
}

size_t gsb_elf_build_id(const struct gsb_elf *elf, const unsigned char **ret_bytes)
{
	for (unsigned i = 0; i < elf->header_count; i++) {
		const Elf64_Phdr *header = &elf->headers[i];
		const char *note = (const char *)elf->base + header->p_vaddr, *end = note + header->p_memsz;

		if (header->p_type != PT_NOTE)
			continue;
		while (end - note > (ptrdiff_t)sizeof(Elf64_Nhdr)) {
			const Elf64_Nhdr *head = (const Elf64_Nhdr *)note;
			const char *name = note + sizeof(*head), *bytes = name + padded(head->n_namesz);

			note = bytes + padded(head->n_descsz);
			if (note > end)
				break;
			if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
				*ret_bytes = (const unsigned char *)bytes;
				return head->n_descsz;
			}
		}
	}
	return 0;
}
