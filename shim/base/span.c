/* See span.h. */
#include "shim/base/span.h"

#include <string.h>

#define SHOWN_BYTES 80 /* of a quoted span */
#define NAME_BYTES 40  /* longer names are compared by their start */

struct gsb_span gsb_span_of(const char *text)
{
	return (struct gsb_span){text, strlen(text)};
}

bool gsb_span_equal(struct gsb_span one, struct gsb_span other)
{
	return one.length == other.length && (one.length == 0 || memcmp(one.start, other.start, one.length) == 0);
}

bool gsb_span_is(struct gsb_span span, const char *text)
{
	return gsb_span_equal(span, gsb_span_of(text));
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct gsb_span gsb_span_trim(struct gsb_span span)
{
	for (; span.length > 0 && is_blank(span.start[0]); span.start++)
		span.length--;
	while (span.length > 0 && is_blank(span.start[span.length - 1]))
		span.length--;
	return span;
}

bool gsb_span_cut(struct gsb_span span, char separator, struct gsb_span *ret_head, struct gsb_span *ret_rest)
{
	const char *at = span.length > 0 ? memchr(span.start, separator, span.length) : NULL;
	size_t length = at != NULL ? (size_t)(at - span.start) : span.length;

	*ret_head = (struct gsb_span){span.start, length};
	*ret_rest = (struct gsb_span){NULL, 0};
	if (at != NULL)
		*ret_rest = (struct gsb_span){at + 1, span.length - length - 1};
	return at != NULL;
}

void gsb_span_quote(struct gsb_text *text, struct gsb_span span)
{
	size_t shown = span.length < SHOWN_BYTES ? span.length : SHOWN_BYTES;

	gsb_text_add(text, "'");
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)span.start[i];

		gsb_text_add(text, "%c", c < ' ' || c == 127 ? '?' : c);
	}
	gsb_text_add(text, shown < span.length ? "...'" : "'");
}

void gsb_span_add(struct gsb_text *text, struct gsb_span span)
{
	for (size_t i = 0; i < span.length; i++)
		gsb_text_add(text, "%c", span.start[i]);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Digits at the start of span, with an optional minus: ret_rest is what follows them. */
static enum gsb_number read_digits(struct gsb_span span, uint64_t *ret_number, struct gsb_span *ret_rest)
{
	bool negative = span.length > 0 && span.start[0] == '-', overflow = false;
	size_t first = negative, at = first;
	uint64_t number = 0;

	for (; at < span.length && span.start[at] >= '0' && span.start[at] <= '9'; at++) {
		overflow |= __builtin_mul_overflow(number, 10u, &number);
		overflow |= __builtin_add_overflow(number, (unsigned)(span.start[at] - '0'), &number);
	}
	if (at == first)
		return GSB_NUMBER_JUNK;
	*ret_rest = (struct gsb_span){span.start + at, span.length - at};
	*ret_number = number;
	return overflow || (negative && number > 0) ? GSB_NUMBER_OUT_OF_RANGE : GSB_NUMBER_FINE;
}

enum gsb_number gsb_span_read_number(struct gsb_span span, uint64_t *ret_number)
{
	struct gsb_span rest = {NULL, 0};
	uint64_t number = 0;
	enum gsb_number result = read_digits(span, &number, &rest);

	if (rest.length > 0)
		return GSB_NUMBER_JUNK;
	if (result == GSB_NUMBER_FINE)
		*ret_number = number;
	return result;
}

enum gsb_number gsb_span_read_size(struct gsb_span span, uint64_t *ret_size_bytes)
{
	static const char units[] = {'k', 'm', 'g', 't'};
	struct gsb_span rest = {NULL, 0};
	uint64_t number = 0;
	unsigned shift = 0;
	enum gsb_number result = read_digits(span, &number, &rest);

	for (unsigned unit = 0; unit < sizeof(units) && rest.length > 0 && shift == 0; unit++) {
		if (lower(rest.start[0]) == units[unit])
			shift = 10 * (unit + 1);
	}
	if (shift > 0)
		rest = (struct gsb_span){rest.start + 1, rest.length - 1};
	if (shift > 0 && rest.length == 2 && rest.start[0] == 'i')
		rest = (struct gsb_span){rest.start + 1, 1};
	if (rest.length > 1 || (rest.length == 1 && lower(rest.start[0]) != 'b'))
		return GSB_NUMBER_JUNK;
	if (result == GSB_NUMBER_FINE && number > UINT64_MAX >> shift)
		result = GSB_NUMBER_OUT_OF_RANGE;
	if (result == GSB_NUMBER_FINE)
		*ret_size_bytes = number << shift;
	return result;
}

enum gsb_number gsb_span_read_share(struct gsb_span span, double *ret_share)
{
	struct gsb_span whole, fraction;
	uint64_t digits = 0, scale = 1;
	enum gsb_number result = GSB_NUMBER_FINE;
	bool negative = span.length > 0 && span.start[0] == '-';

	gsb_span_cut(span, '.', &whole, &fraction);
	if (whole.length > 0)
		result = gsb_span_read_number(whole, &digits);
	else if (fraction.length == 0)
		return GSB_NUMBER_JUNK;
	if (digits > 1000000)
		result = GSB_NUMBER_OUT_OF_RANGE;
	for (size_t at = 0; at < fraction.length; at++) {
		if (fraction.start[at] < '0' || fraction.start[at] > '9')
			return GSB_NUMBER_JUNK;
		if (scale < 1000000000000u && digits < UINT64_MAX / 10 - 1) {
			digits = digits * 10 + (uint64_t)(fraction.start[at] - '0');
			scale *= 10;
		}
	}
	if (result == GSB_NUMBER_FINE && negative && digits > 0)
		result = GSB_NUMBER_OUT_OF_RANGE;
	if (result == GSB_NUMBER_FINE)
		*ret_share = (double)digits / (double)scale;
	return result;
}

static unsigned name_distance(struct gsb_span from, struct gsb_span to)
{
	unsigned row[NAME_BYTES + 1];

	from.length = from.length < NAME_BYTES ? from.length : NAME_BYTES;
	to.length = to.length < NAME_BYTES ? to.length : NAME_BYTES;
	for (unsigned j = 0; j <= to.length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= from.length; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= to.length; j++) {
			unsigned best = diagonal + (lower(from.start[i - 1]) != lower(to.start[j - 1]));

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[to.length];
}

void gsb_nearest_offer(struct gsb_nearest *nearest, struct gsb_span name)
{
	unsigned distance = name_distance(nearest->wanted, name);

	if (nearest->best.start == NULL || distance < nearest->distance) {
		nearest->best = name;
		nearest->distance = distance;
	}
}
