/* Host pages that play device and pinned memory. Each allocation is followed by a page that faults. */
#ifndef SIM_PAGES_H
#define SIM_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define SIM_PAGE_BYTES 4096u

/* What an allocation of that size really takes. */
size_t sim_pages_round(size_t size_bytes);

/* Readable and writable zeroed pages; 0 when the system refuses. */
uintptr_t sim_pages_map(size_t size_bytes);
void sim_pages_unmap(uintptr_t start, size_t size_bytes);

#endif
