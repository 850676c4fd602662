/* The same program, linked to libcudart.so.12. */
#include "tests/preload/rt_version.c"
