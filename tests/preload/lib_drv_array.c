/* A library that calls a driver function of no row of the table, without asking for it by name: tests/preload/rt_submit.c. */
#include <cuda.h>

CUresult array_destroy(CUarray array);

CUresult array_destroy(CUarray array)
{
	return cuArrayDestroy(array);
}
