/* The file gpushim.<pid>.ring: what a killed process leaves behind (snapshot:kill). Written by the shim, read by
 * gpushim-report recover; both are built from this layout.
 *
 *   header | events: ring of slots | live: hash table of slots | texts: records, one behind the other
 *
 * The process may be killed at any instruction. So each slot carries a number that is odd while it is being written, and
 * the end of the texts is published behind what it covers. What is torn is left out by the reader, and counted. The file
 * has its full size from the start; the parts lie in this order, each at a multiple of 4096. */
#ifndef GS_REPORT_RING_FILE_H
#define GS_REPORT_RING_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#define GS_RING_FILE_MAGIC 0x676e6972736870ull
#define GS_RING_FILE_VERSION 1u
#define GS_RING_DEVICES 64u
#define GS_RING_NAMES 32u /* of types, and of classes */
#define GS_RING_NAME_BYTES 24u

/* An event. number: 2n + 2 when event n is complete, counted from 0. Words: time, address, size, stream id, stack and
 * thread << 32, type and device << 8; names of the types are in the header. */
#define GS_RING_EVENT_WORDS 6u
struct gs_ring_slot {
	_Atomic uint64_t number;
	_Atomic uint64_t words[GS_RING_EVENT_WORDS];
};

/* Something alive, as the events tell. number: odd while it is being written. GONE: free again. From LIVE on: the classes
 * of report/schema.h's table `live`, whose names are in the header. */
enum gs_ring_class { GS_RING_FREE, GS_RING_GONE, GS_RING_BLOCK, GS_RING_LIVE };
struct gs_ring_live {
	_Atomic uint64_t number;
	_Atomic uint64_t address;
	_Atomic uint64_t size_bytes;
	_Atomic uint64_t time_ns;
	_Atomic uint64_t stream;
	_Atomic uint64_t stack_thread; /* stack << 32 | thread */
	_Atomic uint64_t class_device; /* class << 8 | device */
	uint64_t spare;
};

/* One record of the texts. What is interned gets its number by its place among those of its kind. */
enum gs_ring_record_kind {
	GS_RING_STRING, /* bytes: the text without an end */
	GS_RING_MODULE, /* path, build_id; base, start, end as in report/schema.h */
	GS_RING_FRAME,	/* 0 none, 1 Python, 2 native; function; file (or module); line; offset */
	GS_RING_NODE	/* parent, frame */
};
struct gs_ring_record {
	uint32_t kind;
	uint32_t bytes;	    /* of the text behind the record */
	uint32_t numbers[4];
	uint64_t words[3];
};
_Static_assert(sizeof(struct gs_ring_record) == 48, "records have a fixed layout");

struct gs_ring_device {
	_Atomic uint32_t known;
	unsigned char uuid[16];
	char name[128];
	uint64_t total_bytes;
};

struct gs_ring_header {
	/* Constant once magic is there, which is written last. */
	_Atomic uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t file_bytes;
	uint64_t events_at, event_slots; /* a power of two */
	uint64_t live_at, live_slots;	 /* a power of two */
	uint64_t texts_at, texts_bytes;
	uint64_t start_wall_ns, start_monotonic_ns;
	int64_t rank; /* -1 = none */
	uint32_t pid, ppid;
	char program[32]; /* version of gpushim */
	char hostname[128];
	char executable[1024];
	char folder[1024];
	char conf[4096];
	uint32_t type_count, class_count;
	char types[GS_RING_NAMES][GS_RING_NAME_BYTES];
	char classes[GS_RING_NAMES][GS_RING_NAME_BYTES];

	/* Only grow. */
	_Atomic uint64_t texts_used;  /* bytes of whole records */
	_Atomic uint64_t texts_lost;  /* there was no room for them */
	_Atomic uint64_t live_lost;
	struct gs_ring_device devices[GS_RING_DEVICES];
};

#define GS_RING_RECORD_BYTES(text_bytes) (sizeof(struct gs_ring_record) + (((text_bytes) + 7) & ~(uint64_t)7))

#endif
