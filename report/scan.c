/* See scan.h. */
#include "report/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/model.h"
#include "shim/base/err.h"
#include "shim/base/text.h"

#define NUMBER_CHARS 40

void gsr_scan_init(struct gsr_scan *scan, const char *text, size_t length)
{
	memset(scan, 0, sizeof(*scan));
	scan->start = text;
	scan->at = text;
	scan->end = text + length;
}

static int keep(struct gsr_scan *scan, const char *at, const char *format, va_list arguments)
{
	if (scan->error[0] == '\0') {
		vsnprintf(scan->error, sizeof(scan->error), format, arguments);
		scan->error_at = (size_t)(at - scan->start);
	}
	return GS_E_INVALID;
}

int gsr_scan_fail(struct gsr_scan *scan, const char *format, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, format);
	error = keep(scan, scan->at, format, arguments);
	va_end(arguments);
	return error;
}

int gsr_scan_fail_at(struct gsr_scan *scan, const char *at, const char *format, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, format);
	error = keep(scan, at, format, arguments);
	va_end(arguments);
	return error;
}

char gsr_scan_peek(struct gsr_scan *scan)
{
	while (scan->at < scan->end &&
	       (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
		scan->at++;
	return scan->at < scan->end ? *scan->at : '\0';
}

static int unexpected(struct gsr_scan *scan, const char *wanted)
{
	unsigned char c;

	if (scan->at == scan->end)
		return gsr_scan_fail(scan, "the file ends too early");
	c = (unsigned char)*scan->at;
	if (c > 0x20 && c < 0x7f)
		return gsr_scan_fail(scan, "%s expected, not '%c'", wanted, c);
	return gsr_scan_fail(scan, "%s expected, not byte 0x%02x", wanted, c);
}

int gsr_scan_take(struct gsr_scan *scan, char wanted)
{
	char name[4] = {'\'', wanted, '\'', '\0'};

	if (gsr_scan_peek(scan) != wanted)
		return unexpected(scan, name);
	scan->at++;
	return 0;
}

int gsr_scan_next(struct gsr_scan *scan, char closing, bool *first, bool *ret_more)
{
	char name[] = {'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', closing, '\'', '\0'};
	char next = gsr_scan_peek(scan);

	*ret_more = true;
	if (next == closing && scan->at < scan->end) {
		scan->at++;
		*ret_more = false;
		return 0;
	}
	if (*first) {
		*first = false;
		return 0;
	}
	if (next != ',')
		return unexpected(scan, name);
	scan->at++;
	if (gsr_scan_peek(scan) == closing)
		return unexpected(scan, "a value after ','");
	return 0;
}

static bool is_digit(const struct gsr_scan *scan)
{
	return scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
}

/* At most 2^53, no sign. */
static int digits(struct gsr_scan *scan, uint64_t *ret_value)
{
	const char *from = scan->at;
	uint64_t value = 0;

	if (!is_digit(scan))
		return unexpected(scan, "a whole number");
	while (is_digit(scan)) {
		value = value * 10 + (uint64_t)(*scan->at++ - '0');
		if (value > GSR_COUNT_MAX)
			return gsr_scan_fail_at(scan, from, "a number is too large");
	}
	if (*from == '0' && scan->at - from > 1)
		return gsr_scan_fail_at(scan, from, "a number starts with 0");
	if (scan->at < scan->end && (*scan->at == '.' || *scan->at == 'e' || *scan->at == 'E'))
		return gsr_scan_fail_at(scan, from, "a whole number expected");
	*ret_value = value;
	return 0;
}

int gsr_scan_count(struct gsr_scan *scan, uint64_t *ret_value)
{
	gsr_scan_peek(scan);
	return digits(scan, ret_value);
}

int gsr_scan_signed(struct gsr_scan *scan, int64_t *ret_value)
{
	bool negative = gsr_scan_peek(scan) == '-';
	uint64_t value;

	if (negative)
		scan->at++;
	if (digits(scan, &value) != 0)
		return GS_E_INVALID;
	*ret_value = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int gsr_scan_hex(struct gsr_scan *scan, uint64_t *ret_value)
{
	const char *from;
	uint64_t value = 0;

	if (gsr_scan_peek(scan) != '"')
		return unexpected(scan, "a string of hexadecimal digits");
	from = ++scan->at;
	while (scan->at < scan->end && hex_digit(*scan->at) >= 0)
		value = value << 4 | (uint64_t)hex_digit(*scan->at++);
	if (scan->at == scan->end || *scan->at != '"')
		return unexpected(scan, "a hexadecimal digit");
	if (scan->at == from || scan->at - from > 16)
		return gsr_scan_fail_at(scan, from, "1 to 16 hexadecimal digits expected");
	scan->at++;
	*ret_value = value;
	return 0;
}

size_t gsr_scan_counts(struct gsr_scan *scan, uint64_t *cells, size_t room)
{
	const char *at = scan->at, *end = scan->end;
	size_t count = 0;

	while (count < room) {
		const char *from = at;
		uint64_t value = 0;

		while (at < end && (unsigned char)(*at - '0') <= 9 && at - from < 15)
			value = value * 10 + (uint64_t)(*at++ - '0');
		if (at == from || (*from == '0' && at - from > 1) || end - at < 2 || at[0] != ',' || at[1] < '0' || at[1] > '9')
			break;
		cells[count++] = value;
		scan->at = ++at;
	}
	return count;
}

size_t gsr_scan_hexes(struct gsr_scan *scan, uint64_t *cells, size_t room)
{
	const char *at = scan->at, *end = scan->end;
	size_t count = 0;

	while (count < room && at < end && *at == '"') {
		const char *from = ++at;
		uint64_t value = 0;

		while (at < end && at - from < 16) {
			unsigned digit = (unsigned char)(*at - '0');

			if (digit > 9) {
				digit = (unsigned char)(*at - 'a') + 10u;
				if (digit < 10 || digit > 15)
					break;
			}
			value = value << 4 | digit;
			at++;
		}
		if (at == from || end - at < 3 || at[0] != '"' || at[1] != ',' || at[2] != '"')
			break;
		cells[count++] = value;
		at += 2;
		scan->at = at;
	}
	return count;
}

/* Four digits of \uXXXX at scan->at, which is moved behind them. */
static int code_unit(struct gsr_scan *scan, unsigned *ret_unit)
{
	unsigned unit = 0;

	for (unsigned i = 0; i < 4; i++, scan->at++) {
		if (scan->at == scan->end || hex_digit(*scan->at) < 0)
			return unexpected(scan, "four hexadecimal digits after \\u");
		unit = unit << 4 | (unsigned)hex_digit(*scan->at);
	}
	*ret_unit = unit;
	return 0;
}

static size_t utf8_put(char *to, unsigned code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* After the backslash. Writes at most 4 bytes, for at least 2 of input. */
static int escape(struct gsr_scan *scan, char *to, size_t *ret_length)
{
	static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
	const char *from = scan->at - 1, *found;
	unsigned code, low;

	if (scan->at == scan->end)
		return unexpected(scan, "an escape");
	found = *scan->at != '\0' ? strchr(plain, *scan->at) : NULL;
	if (found != NULL) {
		scan->at++;
		*to = meaning[found - plain];
		*ret_length = 1;
		return 0;
	}
	if (*scan->at != 'u')
		return gsr_scan_fail_at(scan, from, "an unknown escape in a string");
	scan->at++;
	if (code_unit(scan, &code) != 0)
		return GS_E_INVALID;
	if (code >= 0xd800 && code < 0xdc00) {
		if (scan->end - scan->at < 2 || scan->at[0] != '\\' || scan->at[1] != 'u')
			return gsr_scan_fail_at(scan, from, "half a surrogate pair in a string");
		scan->at += 2;
		if (code_unit(scan, &low) != 0)
			return GS_E_INVALID;
		if (low < 0xdc00 || low > 0xdfff)
			return gsr_scan_fail_at(scan, from, "half a surrogate pair in a string");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xdc00 && code < 0xe000) {
		return gsr_scan_fail_at(scan, from, "half a surrogate pair in a string");
	}
	*ret_length = utf8_put(to, code == 0 ? 0xfffd : code);
	return 0;
}

int gsr_scan_string(struct gsr_scan *scan, char *to, size_t *ret_length)
{
	char *start = to;

	if (gsr_scan_take(scan, '"') != 0)
		return GS_E_INVALID;
	for (;;) {
		size_t length = 1;

		if (scan->at == scan->end)
			return unexpected(scan, "the end of a string");
		if (*scan->at == '"')
			break;
		if ((unsigned char)*scan->at < 0x20)
			return gsr_scan_fail(scan, "a control character in a string");
		if (*scan->at == '\\') {
			scan->at++;
			if (escape(scan, to, &length) != 0)
				return GS_E_INVALID;
			to += length;
			continue;
		}
		if ((unsigned char)*scan->at >= 0x80)
			length = gsb_utf8_length(scan->at, (size_t)(scan->end - scan->at));
		if (length == 0)
			return gsr_scan_fail(scan, "a string is not UTF-8");
		memmove(to, scan->at, length);
		to += length;
		scan->at += length;
	}
	scan->at++;
	*to = '\0';
	*ret_length = (size_t)(to - start);
	return 0;
}

static int skip_string(struct gsr_scan *scan)
{
	char scratch[8];
	size_t length;

	scan->at++;
	while (scan->at < scan->end && *scan->at != '"') {
		if ((unsigned char)*scan->at < 0x20)
			return gsr_scan_fail(scan, "a control character in a string");
		if (*scan->at == '\\') {
			scan->at++;
			if (escape(scan, scratch, &length) != 0)
				return GS_E_INVALID;
			continue;
		}
		length = (unsigned char)*scan->at < 0x80
				 ? 1
				 : gsb_utf8_length(scan->at, (size_t)(scan->end - scan->at));
		if (length == 0)
			return gsr_scan_fail(scan, "a string is not UTF-8");
		scan->at += length;
	}
	if (scan->at == scan->end)
		return unexpected(scan, "the end of a string");
	scan->at++;
	return 0;
}

static int skip_number(struct gsr_scan *scan)
{
	const char *from = scan->at;

	if (*scan->at == '-')
		scan->at++;
	if (!is_digit(scan))
		return unexpected(scan, "a digit");
	if (*scan->at == '0')
		scan->at++;
	while (is_digit(scan) && scan->at - from <= NUMBER_CHARS && *from != '0')
		scan->at++;
	if (scan->at < scan->end && *scan->at == '.') {
		scan->at++;
		if (!is_digit(scan))
			return unexpected(scan, "a digit");
		while (is_digit(scan) && scan->at - from <= NUMBER_CHARS)
			scan->at++;
	}
	if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E')) {
		scan->at++;
		if (scan->at < scan->end && (*scan->at == '+' || *scan->at == '-'))
			scan->at++;
		if (!is_digit(scan))
			return unexpected(scan, "a digit");
		while (is_digit(scan) && scan->at - from <= NUMBER_CHARS)
			scan->at++;
	}
	if (scan->at - from > NUMBER_CHARS)
		return gsr_scan_fail_at(scan, from, "a number has more than %d characters", NUMBER_CHARS);
	return 0;
}

static int skip_word(struct gsr_scan *scan, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
		return unexpected(scan, "a value");
	scan->at += length;
	return 0;
}

static int skip_value(struct gsr_scan *scan, unsigned depth)
{
	char opening = gsr_scan_peek(scan), closing = opening == '{' ? '}' : ']';
	bool first = true, more;

	switch (opening) {
	case '"':
		return skip_string(scan);
	case 't':
		return skip_word(scan, "true");
	case 'f':
		return skip_word(scan, "false");
	case 'n':
		return skip_word(scan, "null");
	case '{':
	case '[':
		break;
	default:
		if (opening == '-' || (opening >= '0' && opening <= '9'))
			return skip_number(scan);
		return unexpected(scan, "a value");
	}
	if (depth == GSR_SCAN_DEPTH)
		return gsr_scan_fail(scan, "nested deeper than %d levels", GSR_SCAN_DEPTH);
	scan->at++;
	for (;;) {
		if (gsr_scan_next(scan, closing, &first, &more) != 0)
			return GS_E_INVALID;
		if (!more)
			return 0;
		if (opening == '{') {
			if (gsr_scan_peek(scan) != '"')
				return unexpected(scan, "a key");
			if (skip_string(scan) != 0 || gsr_scan_take(scan, ':') != 0)
				return GS_E_INVALID;
		}
		if (skip_value(scan, depth + 1) != 0)
			return GS_E_INVALID;
	}
}

int gsr_scan_skip(struct gsr_scan *scan, const char **ret_start)
{
	const char *from;

	gsr_scan_peek(scan);
	from = scan->at;
	if (skip_value(scan, 0) != 0)
		return GS_E_INVALID;
	*ret_start = from;
	return 0;
}
