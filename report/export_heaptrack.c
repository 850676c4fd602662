/* What heaptrack_interpret writes, version 2: one record a line, numbers in hexadecimal. Strings, places and traces are numbered from 1
 * as they come, allocations (a size at a trace) from 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/map.h"

struct writing {
	const struct gsr_view *view;
	uint64_t string_count, trace_count, allocation_count;
	uint64_t *trace_of; /* by stack; 0 = not written yet */
	struct gsr_map allocation_of;
};

/* What would end the line becomes '?'. */
static void line_write(char kind, const char *text)
{
	printf("%c ", kind);
	for (; *text != '\0'; text++)
		putchar((unsigned char)*text < 0x20 ? '?' : *text);
	putchar('\n');
}

static uint64_t string_write(struct writing *writing, const char *text)
{
	line_write('s', text);
	return ++writing->string_count;
}

/* Rows of frames are the places. The name of the module of Python frames is the interpreter's. */
static void frames_write(struct writing *writing)
{
	const struct gsr_model *model = &writing->view->model;
	uint64_t python = string_write(writing, "python");

	for (size_t frame = 1; frame < GSR_ROWS(model, frames); frame++) {
		bool native = strcmp(GSR_NAME(model, frames, kind, frame), "native") == 0;
		const char *file, *function;
		char text[GSR_CELL_BYTES];
		uint64_t module, name, path;

		gsr_frame_names(writing->view->places, frame, &file, &function);
		module = native ? string_write(writing, gsr_module_path(model, frame)) : python;
		name = string_write(writing, function[0] != '\0' ? function : gsr_frame_text(writing->view->places, frame, text));
		path = native ? 0 : string_write(writing, file);
		printf("i %llx %llx %llx %llx %llx\n",
		       native ? (unsigned long long)GSR_CELL(model, frames, offset, frame) : (unsigned long long)frame,
		       (unsigned long long)module, (unsigned long long)name, (unsigned long long)path,
		       (unsigned long long)GSR_CELL(model, frames, line, frame));
	}
}

/* Callers first; a stack may be deep. */
static uint64_t trace_write(struct writing *writing, uint64_t stack)
{
	const struct gsr_model *model = &writing->view->model;

	while (stack != 0 && writing->trace_of[stack] == 0) {
		uint64_t outermost = stack, parent;

		while ((parent = GSR_CELL(model, stacks, parent, outermost)) != 0 && writing->trace_of[parent] == 0)
			outermost = parent;
		printf("t %llx %llx\n", (unsigned long long)GSR_CELL(model, stacks, frame, outermost),
		       (unsigned long long)writing->trace_of[parent]);
		writing->trace_of[outermost] = ++writing->trace_count;
	}
	return stack == 0 ? 0 : writing->trace_of[stack];
}

static uint64_t allocation_write(struct writing *writing, const struct gsr_item *item)
{
	uint64_t stack = gsr_item_stack(writing->view, item), key = item->size_bytes * 0x9e3779b97f4a7c15u ^ stack, allocation;

	if (gsr_map_find(&writing->allocation_of, key, &allocation))
		return allocation;
	printf("a %llx %llx\n", (unsigned long long)item->size_bytes, (unsigned long long)trace_write(writing, stack));
	gsr_map_put(&writing->allocation_of, key, writing->allocation_count);
	return writing->allocation_count++;
}

static void events_write(struct writing *writing)
{
	const struct gsr_view *view = writing->view;
	const struct gsr_model *model = &view->model;
	int64_t *times = gsr_event_times(model), shown_ms = -1;
	struct gsr_steps steps;

	gsr_steps_read(&view->replay, GSR_ROWS(model, events), &steps);
	for (size_t i = 0; i < view->replay.item_count && view->replay.items[i].born == 0; i++)
		printf("+ %llx\n", (unsigned long long)allocation_write(writing, &view->replay.items[i]));
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		if (times[row] / 1000000 > shown_ms && times[row] >= 0) {
			shown_ms = times[row] / 1000000;
			printf("c %llx\n", (unsigned long long)shown_ms);
		}
		if (steps.ended[row] != 0)
			printf("- %llx\n",
			       (unsigned long long)allocation_write(writing, &view->replay.items[steps.ended[row] - 1]));
		if (steps.begun[row] != 0)
			printf("+ %llx\n",
			       (unsigned long long)allocation_write(writing, &view->replay.items[steps.begun[row] - 1]));
	}
	printf("c %llx\n", (unsigned long long)(gsr_count(model->meta, GS_KEY(meta, elapsed_ns)) / 1000000));
	gsr_steps_drop(&steps);
	free(times);
}

int gsr_export_heaptrack(const struct gsr_view *view, const struct gsr_options *options)
{
	struct writing writing = {.view = view, .trace_of = calloc(GSR_ROWS(&view->model, stacks) + 1, sizeof(uint64_t))};
	char command[GSR_CELL_BYTES];

	(void)options;
	if (writing.trace_of == NULL)
		abort();
	puts("v 10400 2");
	line_write('X', gsr_command_text(&view->model, command));
	puts("I 1000 0");
	frames_write(&writing);
	events_write(&writing);
	gsr_map_drop(&writing.allocation_of);
	free(writing.trace_of);
	return GSR_FINE;
}
