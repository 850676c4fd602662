/* Several processes on one device: with SIM_SHARED=FILE, memory that one of them holds is missing to the others. Nothing
 * else is shared. The file is made if it is not there. */
#ifndef SIM_SHARE_H
#define SIM_SHARE_H

#include <stdint.h>

/* Tells the devices of one simulated machine from those of another: with SIM_SHARED the file, else the group of processes that
 * a shell or timeout(1) started as one. */
uint32_t sim_share_machine(void);

/* What this process holds of the device now. */
void sim_share_set(int ordinal, uint64_t used_bytes);

/* What all others that live hold of it. */
uint64_t sim_share_others(int ordinal);

#endif
