/* A JSON document written as it is made, through a buffer of the caller's to a file descriptor.
 *
 * No heap, no stdio, no locale: works while the program exits and when memory has run out. Values go into the
 * innermost open object (with a key) or array (key NULL); debug builds assert it, and that every begin has its end.
 * The first failed write is kept: everything after it does nothing, and gs_json_end reports it once. */
#ifndef GS_SNAP_JSON_OUT_H
#define GS_SNAP_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GS_JSON_MAX_DEPTH 16
#define GS_JSON_MIN_BUFFER 256

struct gs_json {
	int fd;
	int error;	/* errno of the first failed write; 0 = none */
	unsigned depth; /* open objects and arrays */
	bool is_array[GS_JSON_MAX_DEPTH];
	bool has_value[GS_JSON_MAX_DEPTH]; /* the next one needs a comma */
	char *buffer;
	size_t capacity; /* of buffer; at least GS_JSON_MIN_BUFFER */
	size_t used;
	uint64_t written_bytes; /* handed to the system so far */
};

/* fd may be -1: then nothing is written and only the bytes are counted. */
void gs_json_init(struct gs_json *json, int fd, char *buffer, size_t capacity);

void gs_json_object_begin(struct gs_json *json, const char *key);
void gs_json_object_end(struct gs_json *json);
void gs_json_array_begin(struct gs_json *json, const char *key);
void gs_json_array_end(struct gs_json *json);

/* Bytes that are not UTF-8 become U+FFFD. NULL becomes null. */
void gs_json_text(struct gs_json *json, const char *key, const char *text);
void gs_json_count(struct gs_json *json, const char *key, uint64_t value);
void gs_json_signed(struct gs_json *json, const char *key, int64_t value);
void gs_json_fraction(struct gs_json *json, const char *key, double value); /* six decimals, |value| < 10^12 */
void gs_json_bool(struct gs_json *json, const char *key, bool value);
void gs_json_null(struct gs_json *json, const char *key);
void gs_json_hex(struct gs_json *json, const char *key, uint64_t value);     /* "7f00" */
void gs_json_decimal(struct gs_json *json, const char *key, uint64_t value); /* "123": for values above 2^53 */

/* Writes what is left. 0, or GS_E_IO with json->error set. */
int gs_json_end(struct gs_json *json);

#endif
