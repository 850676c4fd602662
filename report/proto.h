/* A writer of protocol buffers: a growing run of bytes, to which fields are added by their numbers. */
#ifndef GSR_PROTO_H
#define GSR_PROTO_H

#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct gsr_proto {
	unsigned char *bytes;
	size_t length, capacity;
};

void gsr_proto_drop(struct gsr_proto *proto);

/* End the program when memory runs out. */
void gsr_proto_number(struct gsr_proto *proto, unsigned field, uint64_t value); /* int64 too: two's complement */
void gsr_proto_text(struct gsr_proto *proto, unsigned field, const char *text);

/* A list of numbers in one run. */
void gsr_proto_numbers(struct gsr_proto *proto, unsigned field, const uint64_t *values, size_t count);

/* Takes what is in part as a message, and empties it. */
void gsr_proto_message(struct gsr_proto *proto, unsigned field, struct gsr_proto *part);

#endif
