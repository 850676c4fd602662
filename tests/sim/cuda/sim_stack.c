/* Stacks: see sim_stack.h. */
#include "tests/sim/cuda/sim_stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_call.h"

extern void *__libc_stack_end;

/* Where the stack of the calling thread ends; 0 = not asked yet. */
static _Thread_local uintptr_t stack_end;

static uintptr_t stack_end_find(void)
{
	uintptr_t end = (uintptr_t)__libc_stack_end;
	pthread_attr_t attributes;
	void *start;
	size_t size_bytes;

	if (getpid() == gettid() || pthread_getattr_np(pthread_self(), &attributes) != 0)
		return end;
	if (pthread_attr_getstack(&attributes, &start, &size_bytes) == 0)
		end = (uintptr_t)start + size_bytes;
	pthread_attr_destroy(&attributes);
	return end;
}

__attribute__((no_sanitize("address", "thread"))) void sim_stack_take(struct sim_stack *ret_stack)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	uintptr_t below = (uintptr_t)frame;
	unsigned count = 0;

	if (!stack_end)
		stack_end = stack_end_find();
	ret_stack->call = sim_calls_total();
	ret_stack->fn = sim_call_fn();
	ret_stack->thread = sim_call_thread();
	while (count < SIM_STACK_FRAMES && (uintptr_t)frame >= below && (uintptr_t)frame % sizeof(*frame) == 0 &&
	       (uintptr_t)frame + 2 * sizeof(*frame) <= stack_end && frame[1]) {
		ret_stack->frames[count++] = frame[1];
		below = (uintptr_t)(frame + 2);
		frame = (const uintptr_t *)frame[0];
	}
	if (count < SIM_STACK_FRAMES)
		ret_stack->frames[count] = 0;
}

/* The function of the symbol table (`kind`: SHT_SYMTAB) that holds the file's address, with its offset in it. */
static bool table_find(const char *file, size_t file_bytes, uintptr_t address, char *name, size_t name_bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);

	if (file_bytes < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_shoff + header->e_shnum * sizeof(*sections) > file_bytes)
		return false;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		const Elf64_Sym *symbols = (const Elf64_Sym *)(file + sections[i].sh_offset);
		const char *strings;

		if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum)
			continue;
		strings = file + sections[sections[i].sh_link].sh_offset;
		for (size_t j = 0; j < sections[i].sh_size / sizeof(*symbols); j++) {
			if (ELF64_ST_TYPE(symbols[j].st_info) != STT_FUNC || address < symbols[j].st_value ||
			    address - symbols[j].st_value >= symbols[j].st_size)
				continue;
			snprintf(name, name_bytes, "%s+%#zx", strings + symbols[j].st_name,
				 (size_t)(address - symbols[j].st_value));
			return true;
		}
	}
	return false;
}

static bool file_find(const char *path, uintptr_t address, char *name, size_t name_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	bool found = false;

	if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0) {
		char *file = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (file != MAP_FAILED) {
			found = table_find(file, (size_t)stat.st_size, address, name, name_bytes);
			munmap(file, (size_t)stat.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* Addresses of a program without position independence are those of its file. */
static uintptr_t address_in_file(const Dl_info *module, uintptr_t address)
{
	const Elf64_Ehdr *header = module->dli_fbase;

	return header->e_type == ET_EXEC ? address : address - (uintptr_t)module->dli_fbase;
}

static void frame_print(uintptr_t frame)
{
	Dl_info module;
	char name[160] = "?";
	const char *path, *base;

	if (!dladdr((void *)(frame - 1), &module)) {
		fprintf(stderr, "gpushim-sim:     %#zx\n", (size_t)frame);
		return;
	}
	path = module.dli_fname && strchr(module.dli_fname, '/') ? module.dli_fname : "/proc/self/exe";
	if (!file_find(path, address_in_file(&module, frame - 1), name, sizeof(name)) && module.dli_sname)
		snprintf(name, sizeof(name), "%s+%#zx", module.dli_sname,
			 (size_t)(frame - (uintptr_t)module.dli_saddr));
	base = module.dli_fname ? strrchr(module.dli_fname, '/') : NULL;
	fprintf(stderr, "gpushim-sim:     %s in %s+%#zx\n", name,
		base		   ? base + 1
		: module.dli_fname ? module.dli_fname
				   : "?",
		(size_t)(frame - (uintptr_t)module.dli_fbase));
}

/* Frames of this library say nothing beyond the driver function that the outermost of them is. */
static unsigned frames_inside(const struct sim_stack *stack)
{
	Dl_info self, module;
	unsigned count = 0;

	if (!dladdr(__extension__(void *) frame_print, &self))
		return 0;
	while (count < SIM_STACK_FRAMES && stack->frames[count] &&
	       dladdr((void *)(stack->frames[count] - 1), &module) && module.dli_fbase == self.dli_fbase)
		count++;
	return count ? count - 1 : 0;
}

void sim_stack_print(const char *what, const struct sim_stack *stack)
{
	fprintf(stderr, "gpushim-sim:   %s, at call %lu (%s) of thread %u:\n", what, stack->call,
		stack->call ? sim_fn_symbol(stack->fn) : "none yet", stack->thread);
	for (unsigned i = frames_inside(stack); i < SIM_STACK_FRAMES && stack->frames[i]; i++)
		frame_print(stack->frames[i]);
}
