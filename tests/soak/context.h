/* Contexts: the primary ones of the devices, and those that the program makes and destroys. */
#ifndef SOAK_CONTEXT_H
#define SOAK_CONTEXT_H

#include <cuda.h>
#include <stdbool.h>

enum { DEVICES_MAX = 2, CONTEXTS_MAX = 12 }; /* CONTEXTS_MAX: that a program ever has, primary ones included */

struct context {
	CUcontext handle;
	int device;
	bool made; /* by cuCtxCreate */
	bool alive;
};

extern struct context contexts[CONTEXTS_MAX];
extern int context_count; /* ever made; the first are the primary ones, by device */
extern int device_count;

void contexts_start(void);

/* Becomes current for the calling thread. */
void context_enter(int context);

/* The index, or -1 when a program has had its share. */
int context_make(int device);

/* Everything in it has to be forgotten by the caller. */
void context_destroy(int context);

/* A live context, by draw. */
int context_pick(void);

#endif
