/* A bounded text under construction, in memory that the caller owns. Never overflows: what does not fit is cut and
 * the text says so through `cut`. Formats without the heap and without the locale. */
#ifndef GSB_TEXT_H
#define GSB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct gsb_text {
	char *start;     /* always zero-terminated */
	size_t length;   /* bytes before the zero byte */
	size_t capacity; /* bytes of start, the zero byte included; at least 1 */
	bool cut;        /* something did not fit */
};

void gsb_text_init(struct gsb_text *text, char *start, size_t capacity);

/* Understands %s %d %i %u %ld %lu %lld %llu %zu %x %lx %llx %p %c %% and a field width for numbers (%08x, %3d). Any
 * other conversion is copied as it stands. */
void gsb_text_add(struct gsb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gsb_text_vadd(struct gsb_text *text, const char *format, va_list arguments);

/* Length of the well-formed UTF-8 sequence of two to four bytes at the start of `bytes`, of which `available` may be read;
 * 0 if there is none. */
size_t gsb_utf8_length(const char *bytes, size_t available);

/* "1.5 GiB", "20.0 MiB", "512 B". */
void gsb_text_add_bytes(struct gsb_text *text, unsigned long long bytes);

#endif
