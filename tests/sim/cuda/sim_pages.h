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

/* A file in memory, as a descriptor that keeps out of the way of the program's own small numbers; -1 on failure. */
#define SIM_PAGES_FD_FIRST 4096
int sim_pages_file(size_t size_bytes);

/* Puts such a file behind pages that are in use, with what they hold: other processes can open it. -1 on failure. */
int sim_pages_share(uintptr_t start, size_t size_bytes);

/* Maps the file of another process, as sim_pages_map does. */
uintptr_t sim_pages_open(int fd, size_t size_bytes);

#endif
