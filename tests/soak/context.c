/* Contexts: see context.h. What is current is remembered for each thread, because cuCtxCreate and a destroyed context
 * change it. */
#include "tests/soak/context.h"

#include <cuda_runtime_api.h>

#include "tests/soak/draw.h"
#include "tests/soak/say.h"

struct context contexts[CONTEXTS_MAX];
int context_count;
int device_count;

/* The header has the newest version only, which older drivers lack. */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

static __thread int current = -1;

void contexts_start(void)
{
	NEED_OK(cudaGetDeviceCount(&device_count));
	if (device_count > DEVICES_MAX)
		device_count = DEVICES_MAX;
	for (int device = 0; device < device_count; device++) {
		NEED_OK(cudaSetDevice(device));
		NEED_OK(cudaFree(NULL));
		NEED_OK(cuCtxGetCurrent(&contexts[device].handle));
		contexts[device].device = device;
		contexts[device].alive = true;
	}
	context_count = device_count;
}

void context_enter(int context)
{
	if (current == context)
		return;
	current = context;
	if (!contexts[context].made && !way_once_in(4))
		NEED_OK(cudaSetDevice(contexts[context].device));
	else
		NEED_OK(cuCtxSetCurrent(contexts[context].handle));
}

int context_make(int device)
{
	struct context *made = &contexts[context_count];

	if (context_count == CONTEXTS_MAX)
		return -1;
	NEED_OK(cuCtxCreate_v2(&made->handle, 0, device));
	if (way_once_in(2))
		NEED_OK(cuCtxPopCurrent(NULL));
	current = -1;
	made->device = device;
	made->made = true;
	made->alive = true;
	return context_count++;
}

void context_destroy(int context)
{
	contexts[context].alive = false;
	current = -1;
	NEED_OK(cuCtxDestroy(contexts[context].handle));
}

int context_pick(void)
{
	int alive[CONTEXTS_MAX], count = 0;

	for (int i = 0; i < context_count; i++)
		if (contexts[i].alive)
			alive[count++] = i;
	return alive[draw((unsigned)count)];
}
