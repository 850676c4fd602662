/* Where the work of several streams met in a way that the program will hardly want: pairs of places, with how often.
 *
 * Any thread, at any time; bounded: pairs that find no room are lost. */
#ifndef GS_WATCH_CROSSING_H
#define GS_WATCH_CROSSING_H

#include <stddef.h>
#include <stdint.h>

/*  X(name, key in the snapshot, meaning) */
#define GS_CROSSINGS(X)                                                                                                \
	X(SERIALISED, "serialised", "work on the legacy stream stands between work of two blocking streams")           \
	X(FREED, "freed_in_use", "memory is freed on a stream while work of another that uses it may still run")       \
	X(REUSED, "reused_in_use", "memory is used again while work of another stream on what it was may still run")   \
	X(UNORDERED, "unordered_write", "two streams use the same memory, one of them writes it, and nothing orders them") \
	X(PINNED, "pinned_freed", "pinned memory is given back while a copy that uses it may still run")

enum gs_crossing_kind {
#define GS_CROSSING_ENUM(name, key, text) GS_CROSSING_##name,
	GS_CROSSINGS(GS_CROSSING_ENUM)
#undef GS_CROSSING_ENUM
	GS_CROSSING_KIND_COUNT
};

struct gs_crossing {
	enum gs_crossing_kind kind;
	uint32_t stack, name;		  /* of what came later; name: string, a kernel or a function */
	uint32_t other_stack, other_name; /* of what was submitted before */
	uint64_t stream, other_stream;	  /* ids, of the first time; 0 = none */
	uint64_t address, size_bytes;	  /* of the memory, of the first time; 0 = none */
	uint64_t calls;
};

/* calls is ignored. Returns true when this pair of places is new. */
_Bool gs_crossing_add(const struct gs_crossing *crossing);

/* Reading: rows below the count are there for ever, and their calls grow. */
size_t gs_crossing_count(void);
void gs_crossing_read(size_t index, struct gs_crossing *ret_crossing);

#endif
