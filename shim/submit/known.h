/* Work that has succeeded, by everything that their success depended on (H18): only the like of them may be put off,
 * because only of them it is known that the driver will not refuse them.
 *
 * Each thread has a table of its own, part of its counters' block (shim/core/counter.h), and learns alone: no lock. */
#ifndef GS_SUBMIT_KNOWN_H
#define GS_SUBMIT_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/core/params.h"

/* What does not apply is 0. No padding: compared as bytes. */
struct gs_known_key {
	uint64_t epoch; /* of all that may change behind the other fields; 0 is never current */
	uint64_t context_id;
	CUfunction function; /* of a launch */
	CUstream stream;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t attribute_count;
	uint64_t detail; /* hash of the attributes' bytes; of an event, its number */
	uint64_t kind;	 /* of other work: enum gs_submit_kind */
};

/* In place of a layout: work like this is never put off; it is no launch. */
extern const struct gs_params gs_known_never, gs_known_plain;

/* The layout of the kernel's parameters; NULL: no such work is known to succeed. */
const struct gs_params *gs_known_find(const struct gs_known_key *key);

/* Such work succeeded. */
void gs_known_add(const struct gs_known_key *key, const struct gs_params *params);

/* For the hash of attributes. */
uint64_t gs_known_hash(const void *bytes, uint64_t size_bytes);

#endif
