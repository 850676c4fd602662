/* The second of the two tool libraries. */
#define NEXT_NAME "b"
#include "tests/preload/lib_next_a.c"
