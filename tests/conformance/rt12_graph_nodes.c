/* Rule: the same of the runtime of CUDA 12, as far as both have one list of arguments. */
#define RULE_RT12
#include "tests/conformance/rt_graph_nodes.c"
