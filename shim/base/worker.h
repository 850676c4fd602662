/* A thread of gpushim's own, which lives as long as the process: no signal of the program's is handled by it, and it has
 * stack enough for the driver, however little the program gives its threads by default. */
#ifndef GSB_WORKER_H
#define GSB_WORKER_H

/* GS_E_NO_HOST_MEMORY: the system makes no thread. */
int gsb_worker_start(void *(*run)(void *), void *argument);

#endif
