/* What the page reads: one header of JSON and many columns of integers, deflated and written as base64.
 *
 * Unpacked: the length of the header (4 bytes, little endian), the header, the columns. A column is a row of LEB128
 * integers; the header's key "columns" holds its [offset, count] by name, from the end of the header on. Base64 has no
 * character that means something to HTML, so no name in a snapshot can break out of the page. */
#ifndef GSR_HTML_PACK_H
#define GSR_HTML_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

struct gsr_pack {
	cJSON *header;
	cJSON *columns; /* within header */
	unsigned char *bytes;
	size_t length, capacity;
	size_t start; /* of the open column */
	uint64_t count;
};

void gsr_pack_init(struct gsr_pack *pack);
void gsr_pack_drop(struct gsr_pack *pack);

/* A column: put and put_signed (zigzag) between begin and end. */
void gsr_pack_begin(struct gsr_pack *pack);
void gsr_pack_put(struct gsr_pack *pack, uint64_t value);
void gsr_pack_put_signed(struct gsr_pack *pack, int64_t value);
void gsr_pack_end(struct gsr_pack *pack, const char *name);

/* Whether it could be written, the file knows. */
void gsr_pack_write(const struct gsr_pack *pack, FILE *file);

#endif
