/* The events as rows: JSON Lines, or a table of comma-separated values. Both have the same columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/json_text.h"

struct row {
	unsigned long long wall_ns;
	long long time_ns;
	const char *type;
	unsigned long long device, address, size_bytes, stream, thread;
	const char *category, *line;
};

static void json_print(const struct row *row)
{
	printf("{\"wall_ns\":\"%llu\",\"time_ns\":%lld,\"type\":", row->wall_ns, row->time_ns);
	gsr_out_text(stdout, row->type);
	printf(",\"device\":%llu,\"address\":\"%llx\",\"size_bytes\":%llu,\"stream\":%llu,\"thread\":%llu,\"category\":", row->device,
	       row->address, row->size_bytes, row->stream, row->thread);
	gsr_out_text(stdout, row->category);
	fputs(",\"line\":", stdout);
	gsr_out_text(stdout, row->line);
	puts("}");
}

/* In quotes; a quote is written twice. What a spreadsheet would take for a formula begins with an apostrophe. */
static void quoted_print(const char *text)
{
	putchar('"');
	if (text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL)
		putchar('\'');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void csv_print(const struct row *row)
{
	printf("%llu,%lld,", row->wall_ns, row->time_ns);
	if (strspn(row->type, "abcdefghijklmnopqrstuvwxyz_") == strlen(row->type))
		fputs(row->type, stdout);
	else
		quoted_print(row->type);
	printf(",%llu,%llx,%llu,%llu,%llu,", row->device, row->address, row->size_bytes, row->stream, row->thread);
	quoted_print(row->category);
	putchar(',');
	quoted_print(row->line);
	putchar('\n');
}

static int rows_print(const struct gsr_view *view, void (*print)(const struct row *row))
{
	const struct gsr_model *model = &view->model;
	uint64_t start_ns = gsr_decimal(model->meta, GS_KEY(meta, start_wall_ns));
	int64_t *times = gsr_event_times(model);
	char line[GSR_CELL_BYTES];

	for (size_t event = 0; event < GSR_ROWS(model, events); event++) {
		uint64_t stack = GSR_CELL(model, events, stack, event), thread = GSR_CELL(model, events, thread, event);
		struct row row = {.wall_ns = start_ns + (uint64_t)times[event],
				  .time_ns = times[event],
				  .type = GSR_NAME(model, events, type, event),
				  .device = GSR_CELL(model, events, device, event),
				  .address = GSR_CELL(model, events, address, event),
				  .size_bytes = GSR_CELL(model, events, size_bytes, event),
				  .stream = GSR_CELL(model, events, stream, event),
				  .thread = thread,
				  .category = gsr_category_of(view->categories, stack, thread),
				  .line = gsr_frame_text(view->places, gsr_places_line(view->places, stack), line)};

		print(&row);
	}
	free(times);
	return GSR_FINE;
}

int gsr_export_rows(const struct gsr_view *view, const struct gsr_options *options)
{
	(void)options;
	return rows_print(view, json_print);
}

int gsr_export_rows_csv(const struct gsr_view *view, const struct gsr_options *options)
{
	(void)options;
	puts("wall_ns,time_ns,type,device,address,size_bytes,stream,thread,category,line");
	return rows_print(view, csv_print);
}
