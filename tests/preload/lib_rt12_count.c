/* The same library, linked to libcudart.so.12. */
#include "tests/preload/lib_rt_count.c"
