/* See text.h. */
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static bool colored;
static unsigned width = 100;
static bool wraps; /* lines are broken to fit: not where only programs read them */

void gsr_text_init(enum gsr_color color)
{
	const char *none = getenv("NO_COLOR"), *columns = getenv("COLUMNS");
	struct winsize size;

	colored = color == GSR_COLOR_ALWAYS ||
		  (color == GSR_COLOR_AUTO && isatty(fileno(stdout)) && (none == NULL || none[0] == '\0'));
	wraps = columns != NULL || isatty(fileno(stdout));
	if (columns != NULL && atoi(columns) > 0)
		width = (unsigned)atoi(columns);
	else if (ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	if (width < 60)
		width = 60;
}

unsigned gsr_width(void)
{
	return width;
}

/* Takes an incomplete last character off. */
static void cut_end(char *text)
{
	size_t end = strlen(text), start = end;

	while (start > 0 && end - start < 4 && (text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0 || (text[start - 1] & 0xc0) != 0xc0)
		return;
	start--;
	if (end - start < ((text[start] & 0xf8) == 0xf0 ? 4u : (text[start] & 0xf0) == 0xe0 ? 3u : 2u))
		text[start] = '\0';
}

char *gsr_cell(char text[GSR_CELL_BYTES], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, GSR_CELL_BYTES, format, arguments);
	va_end(arguments);
	cut_end(text);
	return text;
}

char *gsr_bytes(char text[GSR_CELL_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1024) {
		snprintf(text, GSR_CELL_BYTES, "%llu B", (unsigned long long)bytes);
		return text;
	}
	while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(text, GSR_CELL_BYTES, "%.1f %s", value, units[unit]);
	return text;
}

char *gsr_number(char text[GSR_CELL_BYTES], uint64_t number)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	char *to = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

char *gsr_share(char text[GSR_CELL_BYTES], uint64_t part, uint64_t whole)
{
	if (whole == 0)
		strcpy(text, "-");
	else
		snprintf(text, GSR_CELL_BYTES, "%.1f %%", 100.0 * (double)part / (double)whole);
	return text;
}

static void two_units(char text[GSR_CELL_BYTES], uint64_t parts, unsigned each, const char *one, const char *other)
{
	snprintf(text, GSR_CELL_BYTES, "%llu %s %llu %s", (unsigned long long)(parts / each), one, (unsigned long long)(parts % each),
		 other);
}

char *gsr_duration(char text[GSR_CELL_BYTES], uint64_t ns)
{
	uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (ns < 1000)
		snprintf(text, GSR_CELL_BYTES, "%u ns", (unsigned)ns);
	else if (ns < 999995)
		snprintf(text, GSR_CELL_BYTES, "%.2f us", (double)ns / 1e3);
	else if (ns < 999995000)
		snprintf(text, GSR_CELL_BYTES, "%.2f ms", (double)ns / 1e6);
	else if (ns < 599995000000)
		snprintf(text, GSR_CELL_BYTES, "%.2f s", (double)ns / 1e9);
	else if (seconds < 2 * 3600)
		two_units(text, seconds, 60, "min", "s");
	else if (seconds < 48 * 3600)
		two_units(text, seconds / 60, 60, "h", "min");
	else
		two_units(text, seconds / 3600, 24, "d", "h");
	return text;
}

char *gsr_time(char text[GSR_CELL_BYTES], uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm utc;

	if (gmtime_r(&seconds, &utc) == NULL || strftime(text, GSR_CELL_BYTES, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
		strcpy(text, "?");
	return text;
}

size_t gsr_harmful(const char *at, unsigned *ret_code)
{
	const unsigned char *bytes = (const unsigned char *)at;
	unsigned code;

	if (bytes[0] < 0x80) {
		*ret_code = bytes[0];
		return bytes[0] != '\0' && (bytes[0] < 0x20 || bytes[0] == 0x7f);
	}
	if ((bytes[0] & 0xe0) == 0xc0 && (bytes[1] & 0xc0) == 0x80) {
		*ret_code = (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
		return *ret_code < 0xa0 || *ret_code == 0x061c ? 2 : 0;
	}
	if ((bytes[0] & 0xf0) != 0xe0 || (bytes[1] & 0xc0) != 0x80 || (bytes[2] & 0xc0) != 0x80)
		return 0;
	code = (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
	*ret_code = code;
	return code == 0x200b || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
		       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff
		   ? 3
		   : 0;
}

/* What could command a terminal becomes '?'. */
static void print_safely(const char *text)
{
	for (const char *at = text; *at != '\0';) {
		unsigned code;
		size_t length = gsr_harmful(at, &code);

		putchar(length > 0 ? '?' : *at);
		at += length > 0 ? length : 1;
	}
}

/* "28.0 MiB" stays together. */
static bool is_before_unit(const char *blank)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "%", "s", "ms", "us", "ns", "min", "h", "d"};
	size_t length = strspn(blank + 1, "BKMGTPEi%nmushd");

	if (blank[-1] < '0' || blank[-1] > '9' || (blank[1 + length] >= 'a' && blank[1 + length] <= 'z'))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == length && strncmp(units[i], blank + 1, length) == 0)
			return true;
	return false;
}

/* Where a text has to be broken to fit into room columns: at the last blank before, else at the first one after. */
static char *break_find(char *text, size_t room)
{
	char *blank = NULL;
	size_t column = 0;

	for (char *at = text + strspn(text, " "); *at != '\0'; at++) {
		if (*at == ' ' && !is_before_unit(at) && (blank == NULL || column <= room))
			blank = at;
		column += (*at & 0xc0) != 0x80;
		if (column > room && blank != NULL)
			return blank;
	}
	return NULL;
}

/* Goes on in the next line, further to the right, where it does not fit. */
static void wrapped_print(char *text)
{
	size_t indent = strspn(text, " ");
	char *at = text, *end;

	for (end = wraps ? break_find(at, width - indent) : NULL; end != NULL; end = break_find(at, width - indent - 2)) {
		*end = '\0';
		print_safely(at);
		printf("\n%*s", (int)indent + 2, "");
		at = end + 1;
	}
	print_safely(at);
}

static void formatted_print(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		abort();
	wrapped_print(text);
	free(text);
}

void gsr_heading(const char *format, ...)
{
	va_list arguments;

	if (colored)
		fputs("\033[1m", stdout);
	va_start(arguments, format);
	formatted_print(format, arguments);
	va_end(arguments);
	puts(colored ? "\033[0m" : "");
}

void gsr_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	formatted_print(format, arguments);
	va_end(arguments);
	putchar('\n');
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

#define GRID_COLUMNS 12

struct grid_line {
	bool is_note;
	char *cells[GRID_COLUMNS]; /* a note has one */
};

struct gsr_grid {
	unsigned column_count;
	size_t line_count, capacity;
	struct grid_line *lines; /* the first one is the heads */
};

static struct grid_line *grid_add(struct gsr_grid *grid)
{
	if (grid->line_count == grid->capacity) {
		grid->capacity = grid->capacity == 0 ? 32 : grid->capacity * 2;
		grid->lines = realloc(grid->lines, grid->capacity * sizeof(*grid->lines));
		if (grid->lines == NULL)
			abort();
	}
	memset(&grid->lines[grid->line_count], 0, sizeof(*grid->lines));
	return &grid->lines[grid->line_count++];
}

struct gsr_grid *gsr_grid_new(const char *const *heads, unsigned column_count)
{
	struct gsr_grid *grid = calloc(1, sizeof(*grid));

	if (grid == NULL)
		abort();
	grid->column_count = column_count < GRID_COLUMNS ? column_count : GRID_COLUMNS;
	gsr_grid_row(grid, heads);
	return grid;
}

void gsr_grid_row(struct gsr_grid *grid, const char *const *cells)
{
	struct grid_line *line = grid_add(grid);

	for (unsigned i = 0; i < grid->column_count; i++)
		line->cells[i] = strdup(cells[i]);
}

void gsr_grid_note(struct gsr_grid *grid, const char *text)
{
	struct grid_line *line = grid_add(grid);

	line->is_note = true;
	line->cells[0] = strdup(text);
}

static size_t characters_of(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

/* The end of the text that fits into room columns, counted in characters; a cut one starts with "...". */
static void print_end(const char *text, size_t room)
{
	size_t length = characters_of(text), skip;

	if (length <= room) {
		print_safely(text);
		return;
	}
	for (skip = length - (room - 3); skip > 0; skip--) {
		text++;
		while ((*text & 0xc0) == 0x80)
			text++;
	}
	fputs("...", stdout);
	print_safely(text);
}

static void grid_line_print(const struct gsr_grid *grid, const struct grid_line *line, const size_t *widths)
{
	const size_t least = 20;
	size_t used = 0;

	if (line->is_note) {
		fputs("          ", stdout);
		print_end(line->cells[0], width - 10);
		putchar('\n');
		return;
	}
	for (unsigned i = 0; i + 1 < grid->column_count; i++) {
		printf("%*s", (int)(widths[i] - characters_of(line->cells[i])), "");
		print_safely(line->cells[i]);
		fputs("  ", stdout);
		used += widths[i] + 2;
	}
	print_end(line->cells[grid->column_count - 1], used + least < width ? width - used : least);
	putchar('\n');
}

void gsr_grid_print(struct gsr_grid *grid)
{
	size_t widths[GRID_COLUMNS] = {0};

	for (size_t line = 0; line < grid->line_count; line++)
		for (unsigned i = 0; i < grid->column_count && !grid->lines[line].is_note; i++)
			if (characters_of(grid->lines[line].cells[i]) > widths[i])
				widths[i] = characters_of(grid->lines[line].cells[i]);
	for (size_t line = 0; line < grid->line_count; line++) {
		if (line == 0 && colored)
			fputs("\033[2m", stdout);
		grid_line_print(grid, &grid->lines[line], widths);
		if (line == 0 && colored)
			fputs("\033[0m", stdout);
		for (unsigned i = 0; i < GRID_COLUMNS; i++)
			free(grid->lines[line].cells[i]);
	}
	free(grid->lines);
	free(grid);
}
