/* See live_top.h. Blocks are summed by stack in a table that is small and static: memory has just run out. Stacks that
 * find no place in it are left out. */
#include "shim/watch/live_top.h"

#include <string.h>

#include "shim/stack/stack.h"

#define SUMS 512u
#define SHOWN 3

struct sum {
	uint32_t stack;
	uint32_t count;
	uint64_t bytes;
};

static struct sum sums[SUMS];

static void visit_hole(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	uint64_t *largest_bytes = user;

	if ((state == GSA_BLOCK_IDLE || state == GSA_BLOCK_PENDING) && info->reserved_bytes > *largest_bytes)
		*largest_bytes = info->reserved_bytes;
}

void gs_live_top_add_hole(struct gsb_text *text, struct gsa *allocator)
{
	uint64_t largest_bytes = 0;
	const struct gsa_visitor visitor = {.block = visit_hole, .user = &largest_bytes};

	gsa_walk(allocator, &visitor);
	if (largest_bytes == 0)
		return;
	gsb_text_add(text, ", largest hole ");
	gsb_text_add_bytes(text, largest_bytes);
}

static void visit_live(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	unsigned at = info->stack * 2654435761u % SUMS;

	(void)user;
	if (state != GSA_BLOCK_LIVE || info->stack == 0)
		return;
	for (unsigned looks = 0; looks < SUMS; looks++, at = (at + 1) % SUMS) {
		if (sums[at].count != 0 && sums[at].stack != info->stack)
			continue;
		sums[at].stack = info->stack;
		sums[at].count++;
		sums[at].bytes += info->size_bytes;
		return;
	}
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* On the way from the program to the driver: the runtime, and the shim. */
static bool is_between(uint32_t module)
{
	struct gs_module read;
	const char *name;

	gs_module_read(module, &read);
	name = base_of(gs_string_read(read.path));
	return starts(name, "libcuda") || starts(name, "libgpushim");
}

/* The innermost Python frame, else the innermost native one of the program. */
static void add_place(struct gsb_text *text, uint32_t stack)
{
	struct gs_frame innermost = {.kind = GS_FRAME_NONE};
	struct gs_module module;

	while (stack != 0) {
		struct gs_frame frame;
		uint32_t number;

		gs_stack_read(stack, &stack, &number);
		gs_frame_read(number, &frame);
		if (frame.kind == GS_FRAME_PYTHON) {
			gsb_text_add(text, "%s:%u (%s)", base_of(gs_string_read(frame.file)), frame.line,
				     gs_string_read(frame.function));
			return;
		}
		if (innermost.kind == GS_FRAME_NONE && frame.file != 0 && !is_between(frame.file))
			innermost = frame;
	}
	if (innermost.kind != GS_FRAME_NATIVE) {
		gsb_text_add(text, "an unknown place");
		return;
	}
	gs_module_read(innermost.file, &module);
	gsb_text_add(text, "%s+0x%llx", base_of(gs_string_read(module.path)), (unsigned long long)innermost.offset);
}

void gs_live_top_add_places(struct gsb_text *text, struct gsa *allocator)
{
	const struct gsa_visitor visitor = {.block = visit_live};

	memset(sums, 0, sizeof(sums));
	gsa_walk(allocator, &visitor);
	for (unsigned shown = 0; shown < SHOWN; shown++) {
		struct sum *most = &sums[0];

		for (unsigned i = 1; i < SUMS; i++)
			if (sums[i].bytes > most->bytes)
				most = &sums[i];
		if (most->bytes == 0)
			return;
		gsb_text_add(text, shown == 0 ? "; most of it " : ", ");
		gsb_text_add_bytes(text, most->bytes);
		gsb_text_add(text, " in %u blocks by ", most->count);
		add_place(text, most->stack);
		most->bytes = 0;
	}
}
