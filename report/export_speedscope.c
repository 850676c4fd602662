/* speedscope's own file: frames once, and a sampled profile for each figure, whose weights are bytes. */
#include <stdio.h>
#include <string.h>

#include "report/export.h"
#include "report/json_text.h"

static void frames_print(const struct gsr_view *view)
{
	const struct gsr_model *model = &view->model;
	char text[GSR_CELL_BYTES];

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"gpushim-report " GPUSHIM_VERSION
	      "\",\"name\":",
	      stdout);
	gsr_out_text(stdout, gsr_command_text(model, text));
	fputs(",\"shared\":{\"frames\":[", stdout);
	for (size_t frame = 0; frame < GSR_ROWS(model, frames) || frame == 0; frame++) {
		const char *file = "", *function = "";
		bool known = frame < GSR_ROWS(model, frames) && frame > 0;

		fputs(frame > 0 ? ",{\"name\":" : "{\"name\":", stdout);
		if (known)
			gsr_frame_names(view->places, frame, &file, &function);
		gsr_out_text(stdout, function[0] != '\0' ? function : known ? gsr_frame_text(view->places, frame, text) : "(no stack)");
		if (file[0] != '\0') {
			fputs(",\"file\":", stdout);
			gsr_out_text(stdout, file);
		}
		if (known && GSR_CELL(model, frames, line, frame) != 0)
			printf(",\"line\":%llu", (unsigned long long)GSR_CELL(model, frames, line, frame));
		fputs("}", stdout);
	}
	fputs("]},\"profiles\":[", stdout);
}

static void profile_print(const struct gsr_view *view, enum gsr_order order, bool first)
{
	const struct gsr_replay *replay = &view->replay;
	unsigned long long sum = gsr_use_figure(&view->usage.sum, order);
	struct gsr_trail trail = {0};
	bool more = false;

	printf("%s{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%llu,\"samples\":[",
	       first ? "" : ",", gsr_order_text(order), sum);
	for (size_t i = 0; i < replay->origin_count; i++) {
		if (gsr_use_figure(&replay->origins[i].use, order) == 0)
			continue;
		fputs(more ? ",[" : "[", stdout);
		more = true;
		gsr_trail_read(&view->model, replay->origins[i].stack, &trail);
		if (trail.count == 0)
			fputs("0", stdout);
		for (size_t at = trail.count; at-- > 0;)
			printf("%llu%s", (unsigned long long)trail.frames[at], at > 0 ? "," : "");
		fputs("]", stdout);
	}
	fputs("],\"weights\":[", stdout);
	more = false;
	for (size_t i = 0; i < replay->origin_count; i++) {
		unsigned long long figure = gsr_use_figure(&replay->origins[i].use, order);

		if (figure == 0)
			continue;
		printf("%s%llu", more ? "," : "", figure);
		more = true;
	}
	fputs("]}", stdout);
	gsr_trail_drop(&trail);
}

int gsr_export_speedscope(const struct gsr_view *view, const struct gsr_options *options)
{
	(void)options;
	frames_print(view);
	profile_print(view, GSR_ORDER_PEAK, true);
	profile_print(view, GSR_ORDER_LIVE, false);
	profile_print(view, GSR_ORDER_TOTAL, false);
	puts("]}");
	return GSR_FINE;
}
