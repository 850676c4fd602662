/* Stream captures: short ones, begun and ended in one operation, with a fork, memory of the graph, work beside it, or
 * broken by a call that a capture forbids. Graphs are launched where the driver can. */
#ifndef SOAK_CAPTURE_H
#define SOAK_CAPTURE_H

void capture_one(int stream);

#endif
