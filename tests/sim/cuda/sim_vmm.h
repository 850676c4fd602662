/* Virtual memory management: reservations of addresses, physical handles, mappings of the one into the other.
 *
 * A handle is a memfd; a reservation is a PROT_NONE mapping; a mapping is a MAP_FIXED mapping of the memfd that
 * stays PROT_NONE until cuMemSetAccess; unmapping puts PROT_NONE pages back. A physical allocation is charged to its
 * device from cuMemCreate until its last handle reference and its last mapping are gone. */
#ifndef SIM_VMM_H
#define SIM_VMM_H

#include "tests/sim/cuda/sim_range.h"

#define SIM_GRANULARITY_BYTES ((size_t)2 << 20)

struct sim_physical {
	struct sim_device *device;
	size_t size_bytes;
	CUmemAllocationProp prop;
	uint64_t id; /* CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID */
	int fd;
	bool imported;	      /* the exporter is charged, not we */
	unsigned handle_refs; /* create, import and retain, less release */
	unsigned mappings;
};

/* True inside a reservation, mapped or not. */
bool sim_vmm_reserved(uintptr_t address);
size_t sim_vmm_reservation_count(void);

#endif
