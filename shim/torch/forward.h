/* PyTorch: which line of the forward pass a backward operation belongs to.
 *
 * Backward operations run on threads without Python frames. But PyTorch numbers the operations of each thread as it builds
 * the graph for the backward pass, and a thread that runs one knows which: so what a thread with Python frames allocates
 * is remembered under the number of the operation that it is in, and what an autograd thread allocates gets the Python
 * frames that are found under the number of its operation, with a frame "backward" of "<autograd>" inside of them.
 *
 * This asks three exported functions of libtorch_cpu.so, which do nothing but read a thread-local variable, and reads the
 * number and the thread's number from an operation; both must be those of something remembered. */
#ifndef GS_TORCH_FORWARD_H
#define GS_TORCH_FORWARD_H

/* Once, at start. */
void gs_torch_forward_init(void);

#endif
