/* Folded stacks: "outermost;..;innermost FIGURE", one line a stack. */
#include <stdio.h>

#include "report/export.h"

/* Semicolons divide frames and line ends stacks. */
static void frame_print(const char *text)
{
	for (const char *at = text; *at != '\0';) {
		unsigned code;
		size_t harm = gsr_harmful(at, &code);

		putchar(harm > 0 ? '?' : *at == ';' ? ':' : *at);
		at += harm > 0 ? harm : 1;
	}
}

int gsr_export_folded(const struct gsr_view *view, const struct gsr_options *options)
{
	const struct gsr_model *model = &view->model;
	enum gsr_order order = options->order;
	struct gsr_trail trail = {0};
	char text[GSR_CELL_BYTES];

	if (order == GSR_ORDER_BEST)
		order = view->usage.sum.live_bytes > 0 ? GSR_ORDER_LIVE : GSR_ORDER_PEAK;
	for (size_t i = 0; i < view->replay.origin_count; i++) {
		const struct gsr_origin *origin = &view->replay.origins[i];
		uint64_t figure = gsr_use_figure(&origin->use, order);

		if (figure == 0)
			continue;
		gsr_trail_read(model, origin->stack, &trail);
		if (trail.count == 0)
			fputs("(no stack)", stdout);
		for (size_t at = trail.count; at-- > 0;) {
			frame_print(gsr_trail_text(view->places, model, trail.frames[at], text));
			if (at > 0)
				putchar(';');
		}
		printf(" %llu\n", (unsigned long long)figure);
	}
	gsr_trail_drop(&trail);
	return GSR_FINE;
}
