/* Calls of the driver without which a test program cannot go on: it says which one failed and how, and ends. */
#ifndef NEED_H
#define NEED_H

#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

/* With which status; a program may have its own. */
#ifndef NEED_STATUS
#define NEED_STATUS 2
#endif

static inline void need(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, result);
	exit(NEED_STATUS);
}

#define NEED(call) need(call, #call)

#endif
