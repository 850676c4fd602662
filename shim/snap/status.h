/* status:N: a line on standard error every N seconds, on memory, launches, waits and steps since the one before.
 *
 * Printed at the end of a CUDA call that comes when a line is due, as snapshots every N seconds are (shim/snap/trigger.h): so
 * never in a signal handler, and not at all while the program makes no call. */
#ifndef GS_SNAP_STATUS_H
#define GS_SNAP_STATUS_H

#include <stdint.h>

/* One caller at a time. elapsed_ns: since the start. */
void gs_status_print(uint64_t elapsed_ns);

#endif
