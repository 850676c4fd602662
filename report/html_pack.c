/* See html_pack.h. */
#include "report/html_pack.h"

#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

void gsr_pack_init(struct gsr_pack *pack)
{
	memset(pack, 0, sizeof(*pack));
	pack->header = cJSON_CreateObject();
	pack->columns = cJSON_AddObjectToObject(pack->header, "columns");
}

void gsr_pack_drop(struct gsr_pack *pack)
{
	cJSON_Delete(pack->header);
	free(pack->bytes);
}

void gsr_pack_begin(struct gsr_pack *pack)
{
	pack->start = pack->length;
	pack->count = 0;
}

void gsr_pack_put(struct gsr_pack *pack, uint64_t value)
{
	if (pack->capacity - pack->length < 10) {
		pack->capacity = pack->capacity == 0 ? 65536 : pack->capacity * 2;
		pack->bytes = realloc(pack->bytes, pack->capacity);
		if (pack->bytes == NULL)
			abort();
	}
	for (; value >= 0x80; value >>= 7)
		pack->bytes[pack->length++] = (unsigned char)(value | 0x80);
	pack->bytes[pack->length++] = (unsigned char)value;
	pack->count++;
}

void gsr_pack_put_signed(struct gsr_pack *pack, int64_t value)
{
	gsr_pack_put(pack, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void gsr_pack_end(struct gsr_pack *pack, const char *name)
{
	cJSON *place = cJSON_AddArrayToObject(pack->columns, name);

	cJSON_AddItemToArray(place, cJSON_CreateNumber((double)pack->start));
	cJSON_AddItemToArray(place, cJSON_CreateNumber((double)pack->count));
}

/* --- base64 of a deflated stream --------------------------------------------------------------------------------- */

struct output {
	FILE *file;
	z_stream stream;
	unsigned char packed[3 * 16384]; /* a multiple of 3, so that pieces of base64 join */
};

static void base64_write(struct output *output, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4 * 16384];
	size_t at = 0;

	for (size_t i = 0; i < length; i += 3) {
		unsigned left = length - i > 2 ? 3 : (unsigned)(length - i);
		uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);

		text[at++] = digits[group >> 18];
		text[at++] = digits[group >> 12 & 63];
		text[at++] = left > 1 ? digits[group >> 6 & 63] : '=';
		text[at++] = left > 2 ? digits[group & 63] : '=';
	}
	fwrite(text, 1, at, output->file);
}

static void deflate_write(struct output *output, const void *bytes, size_t length, int flush)
{
	output->stream.next_in = bytes;
	while (length > 0 || flush == Z_FINISH) {
		size_t piece = length < 1u << 30 ? length : 1u << 30;
		int status;

		output->stream.avail_in = (unsigned)piece;
		length -= piece;
		do {
			status = deflate(&output->stream, flush);
			if (output->stream.avail_out == 0) {
				base64_write(output, output->packed, sizeof(output->packed));
				output->stream.next_out = output->packed;
				output->stream.avail_out = sizeof(output->packed);
			} else if (flush != Z_FINISH) {
				break;
			}
		} while (status != Z_STREAM_END);
		if (flush == Z_FINISH)
			break;
	}
}

void gsr_pack_write(const struct gsr_pack *pack, FILE *file)
{
	struct output *output = calloc(1, sizeof(*output));
	char *header = cJSON_PrintUnformatted(pack->header);
	unsigned char length[4];

	if (output == NULL || header == NULL)
		abort();
	for (unsigned i = 0; i < 4; i++)
		length[i] = (unsigned char)(strlen(header) >> 8 * i);
	output->file = file;
	output->stream.next_out = output->packed;
	output->stream.avail_out = sizeof(output->packed);
	if (deflateInit(&output->stream, Z_DEFAULT_COMPRESSION) != Z_OK)
		abort();
	deflate_write(output, length, sizeof(length), Z_NO_FLUSH);
	deflate_write(output, header, strlen(header), Z_NO_FLUSH);
	deflate_write(output, pack->bytes, pack->length, Z_NO_FLUSH);
	deflate_write(output, "", 0, Z_FINISH);
	base64_write(output, output->packed, sizeof(output->packed) - output->stream.avail_out);
	deflateEnd(&output->stream);
	free(output);
	free(header);
}
