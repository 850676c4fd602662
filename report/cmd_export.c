/* gpushim-report export FORMAT FILE: a snapshot for other tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/export.h"
#include "report/map.h"

static const struct format {
	const char *name;
	bool is_binary;
	const char *line;
	int (*write)(const struct gsr_view *view, const struct gsr_options *options);
} formats[] = {
#define EXPORT(name, text, binary, line) {text, binary, line, gsr_export_##name},
#include "report/export.def"
};

static const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	fprintf(stderr, "gpushim-report: export: there is no format \"%s\"; gpushim-report export --help lists them\n", name);
	return NULL;
}

const char *gsr_export_names(void)
{
#define EXPORT(name, text, binary, line) "|" text
	static const char names[] =
#include "report/export.def"
	    ;

	return names + 1;
}

void gsr_export_help(void)
{
	puts("\nformats:");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		printf("  %-16s %s\n", formats[i].name, formats[i].line);
}

int gsr_export(char *const *words, int count, const struct gsr_options *options)
{
	const struct format *format = format_find(words[0]);
	struct gsr_view view;
	int status;

	if (format == NULL)
		return GSR_UNUSABLE;
	if (count != 2) {
		fputs("gpushim-report: export: a format, then one file\n", stderr);
		return GSR_UNUSABLE;
	}
	if (format->is_binary && isatty(fileno(stdout))) {
		fprintf(stderr, "gpushim-report: export: %s is no text: give a file with -o\n", format->name);
		return GSR_UNUSABLE;
	}
	status = gsr_view_load(words[1], options, &view);
	if (status != GSR_FINE)
		return status;
	status = format->write(&view, options);
	gsr_view_drop(&view);
	return status;
}

/* --- what formats share ------------------------------------------------------------------------------------------ */

void gsr_trail_read(const struct gsr_model *model, uint64_t stack, struct gsr_trail *trail)
{
	trail->count = 0;
	for (; stack != 0; stack = GSR_CELL(model, stacks, parent, stack)) {
		if (trail->count == trail->capacity) {
			trail->capacity = trail->capacity == 0 ? 64 : trail->capacity * 2;
			trail->frames = realloc(trail->frames, trail->capacity * sizeof(*trail->frames));
			if (trail->frames == NULL)
				abort();
		}
		trail->frames[trail->count++] = GSR_CELL(model, stacks, frame, stack);
	}
}

void gsr_trail_drop(struct gsr_trail *trail)
{
	free(trail->frames);
}

char *gsr_trail_text(struct gsr_places *places, const struct gsr_model *model, uint64_t frame, char text[GSR_CELL_BYTES])
{
	const char *file, *function;
	uint64_t line;

	if (frame == 0 || strcmp(GSR_NAME(model, frames, kind, frame), "native") == 0)
		return gsr_function_text(places, frame, text);
	gsr_frame_names(places, frame, &file, &function);
	line = GSR_CELL(model, frames, line, frame);
	return line != 0 ? gsr_cell(text, "%s (%s:%llu)", function, file, (unsigned long long)line)
			 : gsr_cell(text, "%s (%s)", function, file);
}

void gsr_held_begin(const struct gsr_model *model, struct gsr_held *ret_held)
{
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];

	memset(ret_held, 0, sizeof(*ret_held));
	ret_held->map = gsr_name_find(types, "segment_map");
	ret_held->unmap = gsr_name_find(types, "segment_unmap");
	for (size_t row = 0; row < GSR_ROWS(model, segments); row++)
		ret_held->bytes[GSR_CELL(model, segments, device, row) & 255] += GSR_CELL(model, segments, size_bytes, row);
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		size_t type = GSR_CELL(model, events, type, row);
		uint64_t *bytes = &ret_held->bytes[GSR_CELL(model, events, device, row) & 255];

		*bytes -= (type == ret_held->map) * GSR_CELL(model, events, size_bytes, row);
		*bytes += (type == ret_held->unmap) * GSR_CELL(model, events, size_bytes, row);
	}
	for (unsigned device = 0; device < 256; device++) /* what the history lost on the way must not count as huge */
		if (ret_held->bytes[device] > INT64_MAX)
			ret_held->bytes[device] = 0;
}

bool gsr_held_step(const struct gsr_model *model, size_t row, struct gsr_held *held)
{
	size_t type = GSR_CELL(model, events, type, row);
	uint64_t *bytes = &held->bytes[GSR_CELL(model, events, device, row) & 255];
	uint64_t size_bytes = GSR_CELL(model, events, size_bytes, row);

	if (type != held->map && type != held->unmap)
		return false;
	if (type == held->map)
		*bytes += size_bytes;
	else
		*bytes -= size_bytes < *bytes ? size_bytes : *bytes;
	return true;
}

static const struct gsr_origin *origin_of(const struct gsr_view *view, const struct gsr_item *item)
{
	return &view->replay.origins[item->origin];
}

unsigned gsr_item_sort(const struct gsr_view *view, const struct gsr_item *item)
{
	return origin_of(view, item)->sort;
}

uint64_t gsr_item_stack(const struct gsr_view *view, const struct gsr_item *item)
{
	return origin_of(view, item)->stack;
}

uint64_t gsr_item_thread(const struct gsr_view *view, const struct gsr_item *item)
{
	return origin_of(view, item)->thread;
}

unsigned char *gsr_item_devices(const struct gsr_view *view)
{
	const struct gsr_model *model = &view->model;
	unsigned char *devices = calloc(view->replay.item_count + 1, 1);
	struct gsr_map by_address = {0};

	if (devices == NULL)
		abort();
	for (size_t row = 0; row < GSR_ROWS(model, blocks); row++)
		gsr_map_put(&by_address, GSR_CELL(model, blocks, address, row),
			    GSR_CELL(model, segments, device, GSR_CELL(model, blocks, segment, row)));
	for (size_t row = 0; row < GSR_ROWS(model, live); row++)
		gsr_map_put(&by_address, GSR_CELL(model, live, address, row), GSR_CELL(model, live, device, row));
	for (size_t i = 0; i < view->replay.item_count; i++) {
		const struct gsr_item *item = &view->replay.items[i];
		uint64_t device = 0;

		if (item->born > 0)
			device = GSR_CELL(model, events, device, item->born - 1);
		else
			gsr_map_find(&by_address, gsr_item_address(item, gsr_item_sort(view, item)), &device);
		devices[i] = (unsigned char)device;
	}
	gsr_map_drop(&by_address);
	return devices;
}
