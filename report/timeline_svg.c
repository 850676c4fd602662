/* See timeline_svg.h: areas one above the other, largest group below; a dashed line for what gpushim held. It stands alone,
 * light or dark as the reader's screen is. */
#include "report/timeline_svg.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 1000
#define HEIGHT 360
#define LEFT 80
#define TOP 44
#define RIGHT 190
#define BOTTOM 36
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (HEIGHT - TOP - BOTTOM)

static const char *const colors[GSR_SERIES_PARTS] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
						     "#b07aa1", "#76b7b2", "#edc948", "#9c9c9c"};

/* Text of XML; what may not be in it, or would turn it round, becomes '?'. */
static void xml_print(const char *text)
{
	for (const char *at = text; *at != '\0';) {
		unsigned code;
		size_t harm = gsr_harmful(at, &code), length = harm > 0 ? harm : 1;

		if (harm == 0 && (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0))
			harm = length = 3;
		fputs(harm > 0	  ? "?"
		      : *at == '<' ? "&lt;"
		      : *at == '&' ? "&amp;"
		      : *at == '"' ? "&quot;"
				   : (const char[2]){*at, '\0'},
		      stdout);
		at += length;
	}
}

static double x_of(const struct gsr_series *series, size_t point)
{
	return LEFT + (double)PLOT_WIDTH * (double)point / (double)series->count;
}

static double y_of(uint64_t bytes, uint64_t top)
{
	return TOP + PLOT_HEIGHT - (top > 0 ? (double)PLOT_HEIGHT * (double)bytes / (double)top : 0);
}

static uint64_t below(const struct gsr_point *point, unsigned part)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < part; i++)
		sum += point->part_bytes[i];
	return sum;
}

/* Steps: along the upper edge, and back along the lower one. */
static void area_print(const struct gsr_series *series, unsigned part, uint64_t top)
{
	printf("<path fill=\"%s\" d=\"M%.1f %d", colors[part], (double)LEFT, TOP + PLOT_HEIGHT);
	for (size_t i = 0; i < series->count; i++)
		printf("L%.1f %.1fH%.1f", x_of(series, i), y_of(below(&series->points[i], part + 1), top), x_of(series, i + 1));
	for (size_t i = series->count; i-- > 0;)
		printf("L%.1f %.1fH%.1f", x_of(series, i + 1), y_of(below(&series->points[i], part), top), x_of(series, i));
	fputs("Z\"><title>", stdout);
	xml_print(series->part_names[part]);
	puts("</title></path>");
}

static void held_print(const struct gsr_series *series, uint64_t top)
{
	fputs("<path class=\"held\" d=\"", stdout);
	for (size_t i = 0; i < series->count; i++)
		printf("%c%.1f %.1fH%.1f", i == 0 ? 'M' : 'L', x_of(series, i), y_of(series->points[i].held_bytes, top),
		       x_of(series, i + 1));
	puts("\"><title>held by gpushim</title></path>");
}

static void axes_print(const struct gsr_series *series, uint64_t top)
{
	char text[GSR_CELL_BYTES];

	for (unsigned i = 0; i <= 4; i++) {
		double y = y_of(top / 4 * i, top), x = LEFT + PLOT_WIDTH / 4.0 * i;

		printf("<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT, y,
		       WIDTH - RIGHT, LEFT - 6, y + 4, gsr_bytes(text, top / 4 * i));
		printf("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, HEIGHT - BOTTOM + 18,
		       gsr_duration(text, (uint64_t)(series->from_ns + (series->to_ns - series->from_ns) / 4 * i)));
	}
	for (size_t i = 0; i < series->count; i++)
		if (series->points[i].failed)
			printf("<path class=\"failed\" d=\"M%.1f %dV%d\"><title>an allocation failed</title></path>\n",
			       x_of(series, i), TOP, TOP + PLOT_HEIGHT);
}

static void legend_print(const struct gsr_series *series)
{
	int y = TOP + 10;

	for (unsigned part = series->part_count; part-- > 0; y += 20) {
		printf("<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
		       WIDTH - RIGHT + 14, y - 10, colors[part], WIDTH - RIGHT + 32, y);
		xml_print(series->part_names[part]);
		puts("</text>");
	}
	printf("<path class=\"held\" d=\"M%d %dh12\"/><text x=\"%d\" y=\"%d\">held by gpushim</text>\n", WIDTH - RIGHT + 14, y - 4,
	       WIDTH - RIGHT + 32, y);
}

void gsr_timeline_svg(const struct gsr_view *view, const struct gsr_series *series)
{
	uint64_t top = series->peak_bytes > series->held_peak_bytes ? series->peak_bytes : series->held_peak_bytes;
	char what[GSR_CELL_BYTES], peak[GSR_CELL_BYTES], command[GSR_CELL_BYTES];

	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", WIDTH, HEIGHT, WIDTH,
	       HEIGHT);
	puts("<style>svg{background:#fff;color:#222;font:12px sans-serif}text{fill:currentColor}.title{font-size:15px}"
	     ".grid{stroke:currentColor;stroke-opacity:.15}.held{fill:none;stroke:currentColor;stroke-dasharray:5 3}"
	     ".failed{stroke:#d00;stroke-width:2}"
	     "@media(prefers-color-scheme:dark){svg{background:#16181c;color:#ddd}}</style>");
	printf("<text class=\"title\" x=\"%d\" y=\"26\">", LEFT);
	xml_print(gsr_command_text(&view->model, command));
	printf(": %s alive, at most %s</text>\n", gsr_sorts_text(view->sorts, what), gsr_bytes(peak, series->peak_bytes));
	for (unsigned part = 0; part < series->part_count; part++)
		area_print(series, part, top);
	held_print(series, top);
	axes_print(series, top);
	legend_print(series);
	puts("</svg>");
}
