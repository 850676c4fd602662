/* See places.h. */
#include "report/places.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "report/symbols.h"

/* From the least to the most telling kind of frame. */
enum rank { RANK_NONE, RANK_NATIVE_CUDA, RANK_NATIVE_CORE, RANK_NATIVE, RANK_PYTHON_LIBRARY, RANK_PYTHON, RANK_COUNT };

/* Longest list of template arguments that is shown: of a kernel they say what it does. */
#define TEMPLATE_LONGEST 40
#define KERNEL_TEMPLATE_LONGEST 120

/* How the names of the functions begin that nvcc makes for launches of a kernel; then the kernel's comes, mangled, without its "_". */
#define STUB "__device_stub__"

struct gsr_places {
	const struct gsr_model *model;
	struct gsr_symbols *symbols;
	uint32_t *line; /* by stack: the frame */
	char **given;	/* by frame: the name of a native one that the snapshot names, alone; NULL = not asked for yet */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool starts_with_any(const char *text, const char *const *prefixes)
{
	for (; *prefixes != NULL; prefixes++)
		if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
			return true;
	return false;
}

static enum rank rank_of(const struct gsr_model *model, uint64_t frame)
{
	static const char *const cuda[] = {"libgpushim", "libcuda.", "libcudart", "libc.so", "libpthread",
					   "ld-linux",	 "libc10",   "libdl.",	  NULL};
	static const char *const core[] = {"libtorch", "libstdc++", "libpython", "libcublas", "libcudnn", NULL};
	static const char *const generated[] = {"<frozen ", "<eval_with_key>", "<__array_function__", "<autograd>", NULL};
	const char *kind = GSR_NAME(model, frames, kind, frame);
	const char *file = gsr_string(model, GSR_CELL(model, frames, file, frame));

	if (strcmp(kind, "python") == 0)
		return starts_with_any(file, generated) || strstr(file, "-packages/") != NULL ||
			       strstr(file, "/lib/python") != NULL
			   ? RANK_PYTHON_LIBRARY
			   : RANK_PYTHON;
	if (strcmp(kind, "native") != 0)
		return RANK_NONE;
	file = base_name(gsr_module_path(model, frame));
	return starts_with_any(file, cuda)   ? RANK_NATIVE_CUDA
	       : starts_with_any(file, core) ? RANK_NATIVE_CORE
					     : RANK_NATIVE;
}

/* "solve+0x1c", or "solve" where the distance is not known. */
static const char *given_name(struct gsr_places *places, uint64_t frame, uint64_t *ret_distance)
{
	const char *name = gsr_string(places->model, GSR_CELL(places->model, frames, function, frame));
	const char *plus = strrchr(name, '+');
	size_t length = strlen(name);

	if (plus != NULL && strncmp(plus, "+0x", 3) == 0 && plus[3] != '\0' &&
	    strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3)) {
		*ret_distance = strtoull(plus + 3, NULL, 16);
		length = (size_t)(plus - name);
	}
	if (places->given[frame] == NULL)
		places->given[frame] = strndup(name, length);
	if (places->given[frame] == NULL)
		abort();
	return places->given[frame];
}

/* The module's name and, if it is known, the function's. */
static const char *native_names(struct gsr_places *places, uint64_t frame, const char **ret_module,
				uint64_t *ret_distance)
{
	const struct gsr_model *model = places->model;
	uint64_t module = GSR_CELL(model, frames, module, frame);

	*ret_module = base_name(gsr_module_path(model, frame));
	if ((*ret_module)[0] == '\0')
		*ret_module = "?";
	*ret_distance = 0;
	if (GSR_CELL(model, frames, function, frame) != 0)
		return given_name(places, frame, ret_distance);
	return module == 0
		   ? NULL
		   : gsr_symbols_find(places->symbols, module, GSR_CELL(model, frames, offset, frame), ret_distance);
}

/* What a program contains of the CUDA runtime: templates of its headers, the static runtime, what nvcc makes for a launch. */
static bool is_runtime(const char *function)
{
	static const char *const prefixes[] = {"__cuda", STUB, "libcudart_static_", NULL};

	return starts_with_any(function, prefixes) || (strncmp(function, "cuda", 4) == 0 && isupper((unsigned char)function[4]));
}

/* Whether the function is the host's side of the kernel that nvcc made the stub for: "layer" of "__device_stub__Z5layerPfPKff". */
static bool is_kernel_of(const char *stub, const char *function)
{
	const char *mangled;
	char *plain;
	bool same;

	if (strncmp(stub, STUB, strlen(STUB)) != 0 || function == NULL)
		return false;
	mangled = stub + strlen(STUB) - 1;
	plain = cplus_demangle(mangled, DMGL_AUTO);
	same = strcmp(plain != NULL ? plain : mangled + 1, function) == 0;
	free(plain);
	return same;
}

/* Parents come first, so one pass in order sees each caller's result before it is needed. Names are only asked for where a native
 * frame would be the line. */
static void lines_find(struct gsr_places *places)
{
	const struct gsr_model *model = places->model;
	size_t stacks = GSR_ROWS(model, stacks), frames = GSR_ROWS(model, frames);
	unsigned char *frame_rank = malloc(frames + 1), *line_rank = malloc(stacks + 1);
	const char *module, *function;
	uint64_t distance;

	places->line = calloc(stacks + 1, sizeof(*places->line));
	if (frame_rank == NULL || line_rank == NULL || places->line == NULL)
		abort();
	for (size_t frame = 0; frame < frames; frame++)
		frame_rank[frame] = (unsigned char)rank_of(model, frame);
	line_rank[0] = RANK_NONE;
	for (size_t stack = 1; stack < stacks; stack++) {
		uint64_t parent = GSR_CELL(model, stacks, parent, stack), frame = GSR_CELL(model, stacks, frame, stack), caller;
		bool own = frame != 0 && frame_rank[frame] >= line_rank[parent];

		function = own && frame_rank[frame] == RANK_NATIVE ? native_names(places, frame, &module, &distance) : NULL;
		if (function != NULL && is_runtime(function)) {
			frame_rank[frame] = RANK_NATIVE_CUDA;
			own = RANK_NATIVE_CUDA >= line_rank[parent];
			caller = GSR_CELL(model, stacks, frame, parent);
			if (line_rank[parent] == RANK_NATIVE && places->line[parent] == caller &&
			    is_kernel_of(function, native_names(places, caller, &module, &distance)))
				parent = GSR_CELL(model, stacks, parent, parent);
		}
		places->line[stack] = own ? (uint32_t)frame : places->line[parent];
		line_rank[stack] = own ? frame_rank[frame] : line_rank[parent];
	}
	free(frame_rank);
	free(line_rank);
}

struct gsr_places *gsr_places_new(const struct gsr_model *model)
{
	struct gsr_places *places = calloc(1, sizeof(*places));

	if (places == NULL)
		abort();
	places->model = model;
	places->symbols = gsr_symbols_new(model);
	places->given = calloc(GSR_ROWS(model, frames) + 1, sizeof(*places->given));
	if (places->given == NULL)
		abort();
	lines_find(places);
	return places;
}

void gsr_places_drop(struct gsr_places *places)
{
	for (size_t frame = 0; frame < GSR_ROWS(places->model, frames); frame++)
		free(places->given[frame]);
	free(places->given);
	gsr_symbols_drop(places->symbols);
	free(places->line);
	free(places);
}

uint64_t gsr_places_line(const struct gsr_places *places, uint64_t stack)
{
	return places->line[stack];
}

/* Without the working folder, or without what leads to a package. */
static const char *short_path(const struct gsr_model *model, const char *path)
{
	const char *folder = gsr_text(model->meta, GS_KEY(meta, folder)), *package = strstr(path, "-packages/");
	size_t length = strlen(folder);

	if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
		return path + length + 1;
	return package != NULL ? package + strlen("-packages/") : path;
}

void gsr_frame_names(struct gsr_places *places, uint64_t frame, const char **ret_file, const char **ret_function)
{
	const struct gsr_model *model = places->model;
	uint64_t distance;

	if (strcmp(GSR_NAME(model, frames, kind, frame), "native") == 0) {
		*ret_function = native_names(places, frame, ret_file, &distance);
		if (*ret_function == NULL)
			*ret_function = "";
		return;
	}
	*ret_file = gsr_string(model, GSR_CELL(model, frames, file, frame));
	*ret_function = gsr_string(model, GSR_CELL(model, frames, function, frame));
}

bool gsr_places_is_core(struct gsr_places *places, uint64_t frame)
{
	enum rank rank = rank_of(places->model, frame);
	const char *file, *function;

	if (rank != RANK_NATIVE_CUDA && rank != RANK_NATIVE_CORE)
		return false;
	gsr_frame_names(places, frame, &file, &function);
	return strncmp(function, "torch::autograd::generated::", strlen("torch::autograd::generated::")) != 0 ||
	       strstr(function, "::apply") == NULL;
}

/* "f<a<b>, c>(int)" becomes "f<...>(int)" where the arguments are longer than people read. The caller frees the text. */
static char *short_name(const char *name, int longest)
{
	char *text = strdup(name), *to = text;

	if (text == NULL)
		abort();
	for (const char *from = text; *from != '\0'; from++) {
		const char *end = from;
		int depth = 0;

		*to++ = *from;
		if (*from != '<')
			continue;
		do
			depth += *end == '<' ? 1 : *end == '>' && end[-1] != '-' ? -1 : 0;
		while (depth > 0 && *++end != '\0');
		if (*end == '\0' || end - from <= longest)
			continue;
		memcpy(to, "...>", 4);
		to += 4;
		from = end;
	}
	*to = '\0';
	return text;
}

char *gsr_kernel_text(const struct gsr_model *model, uint64_t name, char text[GSR_CELL_BYTES])
{
	const char *mangled = name != 0 ? gsr_string(model, name) : "(no name)"; /* there was no room for it */
	char *plain = cplus_demangle(mangled, DMGL_AUTO), *name_text = short_name(plain != NULL ? plain : mangled, KERNEL_TEMPLATE_LONGEST);

	gsr_cell(text, "%s", strncmp(name_text, "void ", 5) == 0 ? name_text + 5 : name_text);
	free(name_text);
	free(plain);
	return text;
}

char *gsr_frame_text(struct gsr_places *places, uint64_t frame, char text[GSR_CELL_BYTES])
{
	const struct gsr_model *model = places->model;
	const char *kind, *module, *function;
	uint64_t distance, line;
	char line_text[32] = "", *name;

	if (frame == 0) {
		strcpy(text, "(no stack)");
		return text;
	}
	kind = GSR_NAME(model, frames, kind, frame);
	if (strcmp(kind, "native") != 0) {
		line = GSR_CELL(model, frames, line, frame);
		if (line != 0)
			snprintf(line_text, sizeof(line_text), ":%llu", (unsigned long long)line);
		gsr_cell(text, "%s%s in %s",
			 short_path(model, gsr_string(model, GSR_CELL(model, frames, file, frame))), line_text,
			 gsr_string(model, GSR_CELL(model, frames, function, frame)));
		return text;
	}
	function = native_names(places, frame, &module, &distance);
	if (function == NULL) {
		gsr_cell(text, "%s+0x%llx", module, (unsigned long long)GSR_CELL(model, frames, offset, frame));
		return text;
	}
	name = short_name(function, TEMPLATE_LONGEST);
	if (distance != 0)
		gsr_cell(text, "%s+0x%llx in %s", name, (unsigned long long)distance, module);
	else
		gsr_cell(text, "%s in %s", name, module);
	free(name);
	return text;
}

char *gsr_function_text(struct gsr_places *places, uint64_t frame, char text[GSR_CELL_BYTES])
{
	const struct gsr_model *model = places->model;
	const char *module, *function;
	uint64_t distance;
	char *name;

	if (frame == 0)
		return gsr_frame_text(places, frame, text);
	if (strcmp(GSR_NAME(model, frames, kind, frame), "native") != 0) {
		gsr_cell(text, "%s (%s)", gsr_string(model, GSR_CELL(model, frames, function, frame)),
			 short_path(model, gsr_string(model, GSR_CELL(model, frames, file, frame))));
		return text;
	}
	function = native_names(places, frame, &module, &distance);
	if (function == NULL)
		return gsr_frame_text(places, frame, text);
	name = short_name(function, TEMPLATE_LONGEST);
	gsr_cell(text, "%s (%s)", name, module);
	free(name);
	return text;
}
