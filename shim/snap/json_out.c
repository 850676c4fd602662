/* See json_out.h. */
#include "shim/snap/json_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/text.h"

void gs_json_init(struct gs_json *json, int fd, char *buffer, size_t capacity)
{
	gsb_debug_assert(capacity >= GS_JSON_MIN_BUFFER);
	memset(json, 0, sizeof(*json));
	json->fd = fd;
	json->buffer = buffer;
	json->capacity = capacity;
}

static void flush(struct gs_json *json)
{
	size_t done = 0;
	int saved_errno = errno;

	while (done < json->used && json->error == 0 && json->fd >= 0) {
		ssize_t wrote = write(json->fd, json->buffer + done, json->used - done);

		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote == 0 || errno != EINTR)
			json->error = wrote == 0 ? EIO : errno;
	}
	json->written_bytes += json->used;
	json->used = 0;
	errno = saved_errno;
}

/* Room for count bytes, count <= GS_JSON_MIN_BUFFER. */
static char *room(struct gs_json *json, size_t count)
{
	if (json->capacity - json->used < count)
		flush(json);
	return json->buffer + json->used;
}

static void put(struct gs_json *json, char c)
{
	*room(json, 1) = c;
	json->used++;
}

static void put_escape(struct gs_json *json, unsigned char c)
{
	char *to = room(json, 6);

	to[0] = '\\';
	if (c == '"' || c == '\\') {
		to[1] = (char)c;
		json->used += 2;
		return;
	}
	memcpy(to + 1, "u00", 3);
	to[4] = "0123456789abcdef"[c >> 4];
	to[5] = "0123456789abcdef"[c & 15];
	json->used += 6;
}

static void put_text(struct gs_json *json, const char *text)
{
	put(json, '"');
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
		unsigned length;

		if (*at < 0x20 || *at == '"' || *at == '\\') {
			put_escape(json, *at++);
			continue;
		}
		if (*at < 0x80) {
			put(json, (char)*at++);
			continue;
		}
		length = (unsigned)gsb_utf8_length((const char *)at, strnlen((const char *)at, 4));
		if (length == 0) {
			memcpy(room(json, 3), "\xef\xbf\xbd", 3);
			json->used += 3;
			at++;
			continue;
		}
		memcpy(room(json, length), at, length);
		json->used += length;
		at += length;
	}
	put(json, '"');
}

static void value_begin(struct gs_json *json, const char *key)
{
	if (json->depth == 0) {
		gsb_debug_assert(key == NULL && json->used == 0 && json->written_bytes == 0);
		return;
	}
	gsb_debug_assert((key == NULL) == json->is_array[json->depth - 1]);
	if (json->has_value[json->depth - 1])
		put(json, ',');
	json->has_value[json->depth - 1] = true;
	if (key != NULL) {
		if (json->depth == 1)
			put(json, '\n');
		put_text(json, key);
		put(json, ':');
	}
}

static void nest_begin(struct gs_json *json, const char *key, bool is_array)
{
	value_begin(json, key);
	gsb_assert(json->depth < GS_JSON_MAX_DEPTH);
	json->is_array[json->depth] = is_array;
	json->has_value[json->depth] = false;
	json->depth++;
	put(json, is_array ? '[' : '{');
}

static void nest_end(struct gs_json *json, bool is_array)
{
	gsb_assert(json->depth > 0);
	json->depth--;
	gsb_debug_assert(json->is_array[json->depth] == is_array);
	put(json, is_array ? ']' : '}');
}

void gs_json_object_begin(struct gs_json *json, const char *key)
{
	nest_begin(json, key, false);
}

void gs_json_object_end(struct gs_json *json)
{
	nest_end(json, false);
}

void gs_json_array_begin(struct gs_json *json, const char *key)
{
	nest_begin(json, key, true);
}

void gs_json_array_end(struct gs_json *json)
{
	nest_end(json, true);
}

void gs_json_text(struct gs_json *json, const char *key, const char *text)
{
	if (text == NULL) {
		gs_json_null(json, key);
		return;
	}
	value_begin(json, key);
	put_text(json, text);
}

static void put_digits(struct gs_json *json, uint64_t value, unsigned base)
{
	char digits[20];
	unsigned from = sizeof(digits);

	do {
		digits[--from] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	memcpy(room(json, sizeof(digits) - from), digits + from, sizeof(digits) - from);
	json->used += sizeof(digits) - from;
}

void gs_json_count(struct gs_json *json, const char *key, uint64_t value)
{
	value_begin(json, key);
	put_digits(json, value, 10);
}

void gs_json_signed(struct gs_json *json, const char *key, int64_t value)
{
	value_begin(json, key);
	if (value < 0)
		put(json, '-');
	put_digits(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

void gs_json_fraction(struct gs_json *json, const char *key, double value)
{
	double size = value < 0 ? -value : value;
	uint64_t millionths;

	value_begin(json, key);
	if (!(size < 1e12)) { /* also NaN, which JSON cannot say */
		memcpy(room(json, 4), "null", 4);
		json->used += 4;
		return;
	}
	millionths = (uint64_t)(size * 1e6 + 0.5);
	if (value < 0)
		put(json, '-');
	put_digits(json, millionths / 1000000, 10);
	put(json, '.');
	for (uint64_t digit = 100000; digit > 0; digit /= 10)
		put(json, (char)('0' + millionths / digit % 10));
}

void gs_json_bool(struct gs_json *json, const char *key, bool value)
{
	const char *text = value ? "true" : "false";
	size_t length = value ? 4 : 5;

	value_begin(json, key);
	memcpy(room(json, length), text, length);
	json->used += length;
}

void gs_json_null(struct gs_json *json, const char *key)
{
	value_begin(json, key);
	memcpy(room(json, 4), "null", 4);
	json->used += 4;
}

void gs_json_hex(struct gs_json *json, const char *key, uint64_t value)
{
	value_begin(json, key);
	put(json, '"');
	put_digits(json, value, 16);
	put(json, '"');
}

void gs_json_decimal(struct gs_json *json, const char *key, uint64_t value)
{
	value_begin(json, key);
	put(json, '"');
	put_digits(json, value, 10);
	put(json, '"');
}

int gs_json_end(struct gs_json *json)
{
	gsb_debug_assert(json->depth == 0);
	put(json, '\n');
	flush(json);
	return json->error == 0 ? GS_OK : GS_E_IO;
}
