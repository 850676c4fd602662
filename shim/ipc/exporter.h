/* What the opening side needs to know of the exporting side of the same process. */
#ifndef GS_IPC_EXPORTER_H
#define GS_IPC_EXPORTER_H

#include <stdint.h>

/* The number in all handles that this process makes; 0 while it has made none. */
uint64_t gs_ipc_nonce(void);

void gs_ipc_exporter_after_fork(void);

#endif
