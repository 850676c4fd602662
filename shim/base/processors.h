/* How many processors the process may use. */
#ifndef GSB_PROCESSORS_H
#define GSB_PROCESSORS_H

/* The whole processors that the calling thread's mask and the quota of its control group allow; at least 1. Reads files. */
unsigned gsb_processors(void);

/* The same from other texts than those of this machine, for tests: the number of processors in the mask; cpu.max of a
 * group of version 2 ("200000 100000", "max 100000"), or quota and period of version 1; each may be NULL. */
unsigned gsb_processors_judge(unsigned masked, const char *max, const char *quota, const char *period);

#endif
