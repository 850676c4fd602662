/* A piece of a text that lives elsewhere, not zero-terminated: what a parser hands around instead of copies.
 *
 * Nothing here allocates, looks at the locale, or changes the text. */
#ifndef GSB_SPAN_H
#define GSB_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/text.h"

struct gsb_span {
	const char *start; /* may be NULL when length is 0 */
	size_t length;
};

struct gsb_span gsb_span_of(const char *text);
bool gsb_span_equal(struct gsb_span one, struct gsb_span other);
bool gsb_span_is(struct gsb_span span, const char *text);

/* Without blanks at both ends. */
struct gsb_span gsb_span_trim(struct gsb_span span);

/* Cuts span at the first separator: ret_rest is what follows it. False when there is none; then the head is all. */
bool gsb_span_cut(struct gsb_span span, char separator, struct gsb_span *ret_head, struct gsb_span *ret_rest);

/* Adds the span to text in quotes, fit for a terminal: control characters as '?', a long span cut. */
void gsb_span_quote(struct gsb_text *text, struct gsb_span span);

/* Adds the span to text as it is. */
void gsb_span_add(struct gsb_text *text, struct gsb_span span);

/* Numbers written in decimal. A negative one is out of range; ret_x is written only for FINE. */
enum gsb_number { GSB_NUMBER_FINE, GSB_NUMBER_OUT_OF_RANGE, GSB_NUMBER_JUNK };

enum gsb_number gsb_span_read_number(struct gsb_span span, uint64_t *ret_number);

/* Bytes, with a suffix K, M, G or T (1024s) in either case, and B or iB after it if one likes: 512M, 2GiB. */
enum gsb_number gsb_span_read_size(struct gsb_span span, uint64_t *ret_size_bytes);

/* A share such as 0.8. Digits beyond a million millionths are read over. */
enum gsb_number gsb_span_read_share(struct gsb_span span, double *ret_share);

/* The name nearest to a mistyped one, by Levenshtein's distance, upper and lower case being equal; the first offered
 * wins a tie. Start with {.wanted = x}, offer the names, read best. */
struct gsb_nearest {
	struct gsb_span wanted, best;
	unsigned distance; /* between the two; no meaning before the first offer */
};

void gsb_nearest_offer(struct gsb_nearest *nearest, struct gsb_span name);

#endif
