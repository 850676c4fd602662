/* See text.h. snprintf is avoided: it can allocate, depends on the locale, and is intercepted by some tools. */
#include "shim/base/text.h"

#include <stdint.h>
#include <string.h>

void gsb_text_init(struct gsb_text *text, char *start, size_t capacity)
{
	text->start = start;
	text->length = 0;
	text->capacity = capacity;
	text->cut = false;
	start[0] = '\0';
}

static void add_chars(struct gsb_text *text, const char *chars, size_t count)
{
	size_t room = text->capacity - 1 - text->length;

	if (count > room) {
		text->cut = true;
		count = room;
	}
	memcpy(text->start + text->length, chars, count);
	text->length += count;
	text->start[text->length] = '\0';
}

static void add_number(struct gsb_text *text, unsigned long long value, unsigned base, bool negative, unsigned width,
		       char pad)
{
	char digits[32];
	unsigned count = 0;

	do {
		digits[sizeof(digits) - ++count] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	if (negative)
		digits[sizeof(digits) - ++count] = '-';
	for (unsigned blank = count; blank < width; blank++)
		add_chars(text, &pad, 1);
	add_chars(text, digits + sizeof(digits) - count, count);
}

void gsb_text_vadd(struct gsb_text *text, const char *format, va_list arguments)
{
	for (const char *at = format; *at != '\0';) {
		const char *from = at;
		unsigned width = 0, longs = 0;
		char pad = ' ';

		if (*at != '%') {
			const char *next = strchr(at, '%');
			size_t count = next != NULL ? (size_t)(next - at) : strlen(at);

			add_chars(text, at, count);
			at += count;
			continue;
		}
		at++;
		if (*at == '0') {
			pad = '0';
			at++;
		}
		while (*at >= '0' && *at <= '9')
			width = width * 10 + (unsigned)(*at++ - '0');
		for (; *at == 'l' || *at == 'z'; at++)
			longs++;
		switch (*at) {
		case 's': {
			const char *chars = va_arg(arguments, const char *);

			if (chars == NULL)
				chars = "(null)";
			add_chars(text, chars, strlen(chars));
			break;
		}
		case 'c': {
			char one = (char)va_arg(arguments, int);

			add_chars(text, &one, 1);
			break;
		}
		case 'd':
		case 'i': {
			long long value = longs == 0 ? va_arg(arguments, int) : va_arg(arguments, long long);

			add_number(text, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, 10,
				   value < 0, width, pad);
			break;
		}
		case 'u':
		case 'x': {
			unsigned long long value =
				longs == 0 ? va_arg(arguments, unsigned) : va_arg(arguments, unsigned long long);

			add_number(text, value, *at == 'u' ? 10 : 16, false, width, pad);
			break;
		}
		case 'p':
			add_chars(text, "0x", 2);
			add_number(text, (uintptr_t)va_arg(arguments, void *), 16, false, width, pad);
			break;
		case '%':
			add_chars(text, "%", 1);
			break;
		default:
			add_chars(text, from, (size_t)(at - from));
			continue;
		}
		at++;
	}
}

void gsb_text_add(struct gsb_text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	gsb_text_vadd(text, format, arguments);
	va_end(arguments);
}

size_t gsb_utf8_length(const char *bytes, size_t available)
{
	const unsigned char *text = (const unsigned char *)bytes;
	size_t length;

	if (available == 0 || text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (available < length)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

void gsb_text_add_bytes(struct gsb_text *text, unsigned long long bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;
	unsigned long long scale = 1024;

	if (bytes < 1024) {
		gsb_text_add(text, "%llu B", bytes);
		return;
	}
	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes / scale >= 1024) {
		scale *= 1024;
		unit++;
	}
	gsb_text_add(text, "%llu.%llu %s", bytes / scale, bytes % scale * 10 / scale, units[unit]);
}
