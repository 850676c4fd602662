/* See place.h. */
#include "shim/watch/place.h"

#include <stdbool.h>
#include <string.h>

#include "shim/stack/stack.h"

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

static bool is_library(const char *file)
{
	return strstr(file, "-packages/") != NULL || strstr(file, "/lib/python") != NULL || file[0] == '<';
}

void gs_place_add(struct gsb_text *text, uint32_t stack)
{
	struct gs_frame innermost = {.kind = GS_FRAME_NONE}, python = {.kind = GS_FRAME_NONE};
	struct gs_module module;

	while (stack != 0) {
		struct gs_frame frame;
		uint32_t number;

		gs_stack_read(stack, &stack, &number);
		gs_frame_read(number, &frame);
		if (frame.kind == GS_FRAME_PYTHON && python.kind == GS_FRAME_NONE)
			python = frame;
		if (frame.kind == GS_FRAME_PYTHON && !is_library(gs_string_read(frame.file))) {
			python = frame;
			break;
		}
		if (innermost.kind == GS_FRAME_NONE && frame.kind == GS_FRAME_NATIVE && frame.file != 0 &&
		    !is_between(frame.file))
			innermost = frame;
	}
	if (python.kind == GS_FRAME_PYTHON) {
		gsb_text_add(text, "%s:%u (%s)", base_of(gs_string_read(python.file)), python.line,
			     gs_string_read(python.function));
		return;
	}
	if (innermost.kind != GS_FRAME_NATIVE) {
		gsb_text_add(text, "an unknown place");
		return;
	}
	gs_module_read(innermost.file, &module);
	gsb_text_add(text, "%s+0x%llx", base_of(gs_string_read(module.path)), (unsigned long long)innermost.offset);
}
