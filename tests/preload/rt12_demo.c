/* The demo for machines whose toolkit has libcudart.so.12. */
#include "tests/preload/rt_demo.c"
