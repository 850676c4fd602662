/* What people read: sizes, shares, tables that fit the terminal, colour where there is one.
 *
 * Everything that comes from a file goes through here, so that it can neither break a line nor command a terminal. */
#ifndef GSR_TEXT_H
#define GSR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSR_CELL_BYTES 512

enum gsr_color { GSR_COLOR_AUTO, GSR_COLOR_ALWAYS, GSR_COLOR_NEVER };

/* Colour on a terminal and unless NO_COLOR is set; the width is COLUMNS, the terminal's, or 100. */
void gsr_text_init(enum gsr_color color);
unsigned gsr_width(void);

/* As snprintf, but what does not fit is cut between two characters. */
char *gsr_cell(char text[GSR_CELL_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Texts in a caller's buffer: "28.0 MiB", "12,345", "70.0 %", "2.50 s" or "3 h 20 min". They return the buffer. */
char *gsr_bytes(char text[GSR_CELL_BYTES], uint64_t bytes);
char *gsr_number(char text[GSR_CELL_BYTES], uint64_t number);
char *gsr_share(char text[GSR_CELL_BYTES], uint64_t part, uint64_t whole);
char *gsr_duration(char text[GSR_CELL_BYTES], uint64_t ns);
char *gsr_time(char text[GSR_CELL_BYTES], uint64_t wall_ns); /* "2026-11-29 15:03:30 UTC" */

/* Bytes of the character there if it could command a terminal or change the order of what it shows: control characters, C1 ones,
 * separators of lines, marks of direction, what is invisible; 0 = harmless. */
size_t gsr_harmful(const char *at, unsigned *ret_code);

/* A line in bold; a line of plain text. Both go on in the next one where they do not fit the terminal, make what they print harmless
 * and end the line. */
void gsr_heading(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gsr_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A table: all columns but the last are aligned to the right, the last one takes the rest of the line and loses its
 * beginning where it does not fit. A row may be followed by lines of its own. */
struct gsr_grid;
struct gsr_grid *gsr_grid_new(const char *const *heads, unsigned column_count);
void gsr_grid_row(struct gsr_grid *grid, const char *const *cells);
void gsr_grid_note(struct gsr_grid *grid, const char *text);
void gsr_grid_print(struct gsr_grid *grid); /* and drops it */

#endif
