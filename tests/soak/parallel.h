/* Several threads at once: each allocates, works, frees and reads back with memory and a stream of its own. */
#ifndef SOAK_PARALLEL_H
#define SOAK_PARALLEL_H

void parallel_work(int stream);

#endif
