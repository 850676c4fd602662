/* Other processes of the same user that run under gpushim too: when this one's device is full, they are asked to give
 * back what they hold free. One that is not making CUDA calls does not hear of it. */
#ifndef GS_IPC_NEIGHBOUR_H
#define GS_IPC_NEIGHBOUR_H

#include <stdbool.h>

/* Asks those that use the device with this UUID, and waits a moment for the first answers. True when one has given back what
 * it could. No lock held. */
bool gs_neighbours_purge(const unsigned char uuid[16]);

#endif
