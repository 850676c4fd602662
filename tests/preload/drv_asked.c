/* Free memory in pieces is mapped again for what none of them could serve, but for what somebody has asked about as a network
 * card's library does before it registers memory, which it may then find by its address (H12). One way to ask a run: argv[1].
 * Exits 1 if that does not show in how many handles the driver is asked for. Only under gpushim. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { PIECES = 8, PIECE_BYTES = 32 << 20 };

static void ask(const char *way, CUdeviceptr piece)
{
	unsigned long long id;
	CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
	unsigned type, on = 1;

	if (strcmp(way, "id") == 0)
		NEED(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, piece));
	else if (strcmp(way, "together") == 0)
		NEED(cuPointerGetAttributes(2, attributes, (void *[]){&type, &id}, piece));
	else if (strcmp(way, "set") == 0)
		cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, piece);
	else if (strcmp(way, "type") == 0)
		NEED(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, piece));
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	CUdeviceptr pieces[PIECES], large;
	unsigned long before;
	sim_calls_fn *calls;
	CUcontext context;
	bool made, asked = way[0] != '\0' && strcmp(way, "type") != 0;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	*(void **)&calls = sim_find("sim_calls");
	for (unsigned i = 0; i < PIECES; i++)
		NEED(cuMemAlloc(&pieces[i], PIECE_BYTES));
	for (unsigned i = 0; i < PIECES; i += 2) {
		ask(way, pieces[i]);
		NEED(cuMemFree(pieces[i]));
	}
	before = calls("cuMemCreate");
	NEED(cuMemAlloc(&large, 2 * PIECE_BYTES));
	made = calls("cuMemCreate") > before;
	return made != asked;
}
