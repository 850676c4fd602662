/* See proto.h. */
#include "report/proto.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, LENGTH = 2 };

void gsr_proto_drop(struct gsr_proto *proto)
{
	free(proto->bytes);
	memset(proto, 0, sizeof(*proto));
}

static void bytes_add(struct gsr_proto *proto, const void *bytes, size_t length)
{
	if (proto->capacity - proto->length < length) {
		proto->capacity = (proto->capacity + length) * 2;
		proto->bytes = realloc(proto->bytes, proto->capacity);
		if (proto->bytes == NULL)
			abort();
	}
	if (length > 0)
		memcpy(proto->bytes + proto->length, bytes, length);
	proto->length += length;
}

static void varint_add(struct gsr_proto *proto, uint64_t value)
{
	unsigned char bytes[10];
	size_t length = 0;

	do {
		bytes[length] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
		length++;
	} while (value > 0);
	bytes_add(proto, bytes, length);
}

static void run_add(struct gsr_proto *proto, unsigned field, const void *bytes, size_t length)
{
	varint_add(proto, field << 3 | LENGTH);
	varint_add(proto, length);
	bytes_add(proto, bytes, length);
}

void gsr_proto_number(struct gsr_proto *proto, unsigned field, uint64_t value)
{
	varint_add(proto, field << 3 | VARINT);
	varint_add(proto, value);
}

void gsr_proto_text(struct gsr_proto *proto, unsigned field, const char *text)
{
	run_add(proto, field, text, strlen(text));
}

void gsr_proto_numbers(struct gsr_proto *proto, unsigned field, const uint64_t *values, size_t count)
{
	struct gsr_proto run = {0};

	for (size_t i = 0; i < count; i++)
		varint_add(&run, values[i]);
	run_add(proto, field, run.bytes, run.length);
	gsr_proto_drop(&run);
}

void gsr_proto_message(struct gsr_proto *proto, unsigned field, struct gsr_proto *part)
{
	run_add(proto, field, part->bytes, part->length);
	part->length = 0;
}
