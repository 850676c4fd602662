/* Every address range that the driver knows, in order of address: what a pointer is, which bytes may be touched.
 *
 * Ranges never overlap. Pageable host memory is what is in no range. */
#ifndef SIM_RANGE_H
#define SIM_RANGE_H

#include "tests/sim/cuda/sim_ctx.h"

struct sim_physical;
struct sim_pool;
struct sim_block;
struct sim_graph_memory;

enum sim_range_kind {
	SIM_RANGE_DEVICE,     /* cuMemAlloc: dies with its context */
	SIM_RANGE_MANAGED,    /* cuMemAllocManaged: likewise */
	SIM_RANGE_HOST,	      /* cuMemHostAlloc: likewise */
	SIM_RANGE_REGISTERED, /* cuMemHostRegister: the memory is the program's */
	SIM_RANGE_POOL,	      /* cuMemAllocAsync: belongs to its pool */
	SIM_RANGE_VMM,	      /* cuMemMap: one mapping */
	SIM_RANGE_IPC,	      /* cuIpcOpenMemHandle: another process's, mapped here; dies with its context */
	SIM_RANGE_GRAPH	      /* an allocation node's: sim_graph_memory.h */
};

struct sim_range {
	uintptr_t start;
	size_t size_bytes;  /* as asked for */
	size_t whole_bytes; /* POOL: of its block, which is reused for other sizes; else size_bytes, which 0 means */
	enum sim_range_kind kind;
	struct sim_ctx *ctx;		       /* NULL for POOL, VMM and GRAPH */
	struct sim_device *device;	       /* where the bytes are, or whose context registered them */
	uint64_t buffer_id;		       /* never reused */
	bool freed;			       /* DEVICE: by cuMemFreeAsync, but its stream has not got there */
	unsigned flags;			       /* of cuMemHostAlloc, cuMemHostRegister, cuMemAllocManaged */
	int shared_fd;			       /* DEVICE: of the file behind it once it was exported; 0 = it was not */
	struct sim_pool *pool;		       /* POOL */
	struct sim_block *block;	       /* POOL */
	struct sim_physical *memory;	       /* VMM */
	struct sim_graph_memory *graph_memory; /* GRAPH */
	uint8_t access[SIM_DEVICES_MAX];       /* VMM: the CUmemAccess_flags that cuMemSetAccess granted, by device */
};

/* Makes a range known; fills in buffer_id. The table owns the copy that it returns. */
struct sim_range *sim_range_add(struct sim_range range);
void sim_range_remove(struct sim_range *range);

/* The highest buffer_id so far. */
uint64_t sim_range_newest(void);

/* The range that holds the address; NULL for pageable memory. */
struct sim_range *sim_range_find(uintptr_t address);

/* The first range that ends above the address (a POOL one with its block), and the one after a range: for walking. NULL
 * at the end. */
struct sim_range *sim_range_above(uintptr_t address);
size_t sim_range_count(void);

/* True when [start, start + size) may be read (and written) by the device, of which mappings want access (NULL: by any
 * device); pageable memory counts as accessible. A span may run over several adjacent mappings. */
bool sim_range_accessible(uintptr_t start, size_t size_bytes, bool write, const struct sim_device *device);

/* The same, by any device, for work that was queued a while ago: a block of a pool may have gone to a smaller owner
 * meanwhile, who comes after that work. */
bool sim_range_mapped(uintptr_t start, size_t size_bytes, bool write);

/* True when the address is device memory of any kind. */
bool sim_range_is_device(uintptr_t address);

/* Gives the pages and the physical bytes of a DEVICE, MANAGED or HOST range back, and removes it. */
void sim_range_free(struct sim_range *range);

/* The context goes away: so does what it owns. */
void sim_range_forget(const struct sim_ctx *ctx);

#endif
