/* A reader that pulls values out of JSON text, strictly and in one pass, without building a tree.
 *
 * Every function returns 0, or GS_E_INVALID after keeping where and why in the reader: the first mistake wins. The text
 * need not end with a zero byte. Nesting is bounded by GSR_SCAN_DEPTH, numbers by 40 characters. */
#ifndef GSR_SCAN_H
#define GSR_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSR_SCAN_DEPTH 64

struct gsr_scan {
	const char *start;
	const char *end;
	const char *at;
	size_t error_at; /* byte of the mistake */
	char error[200]; /* "" = none */
};

void gsr_scan_init(struct gsr_scan *scan, const char *text, size_t length);

/* Keeps the mistake at the current place, or at another one. Returns GS_E_INVALID. */
int gsr_scan_fail(struct gsr_scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));
int gsr_scan_fail_at(struct gsr_scan *scan, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The next character that is no space, '\0' at the end. Takes nothing. */
char gsr_scan_peek(struct gsr_scan *scan);
int gsr_scan_take(struct gsr_scan *scan, char wanted);

/* For loops over an object or array after its opening bracket: *ret_more tells whether another item follows, and the
 * comma or closing bracket has been taken. *first starts as true. */
int gsr_scan_next(struct gsr_scan *scan, char closing, bool *first, bool *ret_more);

/* Integers: no fraction, no exponent. A count is at most 2^53. */
int gsr_scan_count(struct gsr_scan *scan, uint64_t *ret_value);
int gsr_scan_signed(struct gsr_scan *scan, int64_t *ret_value);

/* A string of 1 to 16 hexadecimal digits. */
int gsr_scan_hex(struct gsr_scan *scan, uint64_t *ret_value);

/* The bulk of a column, where a value is due: takes up to `room` values that another one follows, as long as they are written
 * without blanks and are in order, and the comma behind each. What is left is for the functions above. Returns how many. */
size_t gsr_scan_counts(struct gsr_scan *scan, uint64_t *cells, size_t room);
size_t gsr_scan_hexes(struct gsr_scan *scan, uint64_t *cells, size_t room);

/* Decodes into `to`, which has room for the rest of the text; ends it with a zero byte. U+0000 becomes U+FFFD. */
int gsr_scan_string(struct gsr_scan *scan, char *to, size_t *ret_length);

/* Checks and passes over one value of any kind, which starts at *ret_start. */
int gsr_scan_skip(struct gsr_scan *scan, const char **ret_start);

#endif
