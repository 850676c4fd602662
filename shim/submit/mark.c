/* See mark.h. A context's events are kept until it is gone, one for each mark. */
#include "shim/submit/mark.h"

#include <stdatomic.h>
#include <stdint.h>

#include "shim/api/driver.h"
#include "shim/core/device.h"
#include "shim/core/order.h"

#define CONTEXTS 16u /* of more there are no marks */

static struct marked {
	_Atomic uint64_t context_id; /* 0: the place is free, or being filled */
	CUcontext context;
	CUevent events[GS_MARKS];
	_Atomic bool open[GS_MARKS]; /* recorded, and not known to have passed */
} places[CONTEXTS];
static _Atomic uint64_t stocked;	       /* for the contexts that there were at this number of their changes */
static atomic_flag stocking = ATOMIC_FLAG_INIT; /* one thread does */

bool gs_marks_possible(void)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent != NULL;
#else
	return false;
#endif
}

static bool is_alive(const struct marked *place)
{
	struct gs_context now;

	return gs_context_find(place->context, &now) && now.id == place->context_id;
}

static bool is_open(const struct marked *place)
{
	for (unsigned mark = 0; mark < GS_MARKS; mark++)
		if (place->open[mark])
			return true;
	return false;
}

static struct marked *place_of(uint64_t context_id)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (places[i].context_id == context_id)
			return &places[i];
	return NULL;
}

/* NULL: all are taken. */
static struct marked *place_take(void)
{
	for (unsigned i = 0; i < CONTEXTS; i++) {
		struct marked *place = &places[i];

		if (place->context_id == 0 || (!is_alive(place) && !is_open(place))) {
			place->context_id = 0;
			return place;
		}
	}
	return NULL;
}

static bool events_make(CUevent events[])
{
	for (unsigned mark = 0; mark < GS_MARKS; mark++) {
		if (gs_driver.cuEventCreate(&events[mark], CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
			continue;
		while (mark-- > 0)
			gs_driver.cuEventDestroy_v2(events[mark]);
		return false;
	}
	return true;
}

static bool stock(const struct gs_context *context)
{
	struct marked *place = place_take();
	bool pushed, made;

	if (place == NULL || !gs_context_enter(context->handle, &pushed))
		return false;
	made = events_make(place->events);
	gs_context_leave(pushed);
	place->context = context->handle;
	if (made)
		place->context_id = context->id;
	return made;
}

void gs_marks_stock(void)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	uint64_t changes = gs_context_changes();
	unsigned count;
	bool all = true;

	if (atomic_load_explicit(&stocked, memory_order_relaxed) == changes || atomic_flag_test_and_set(&stocking))
		return;
	count = gs_context_list(contexts, GS_CONTEXT_LIMIT);
	for (unsigned i = 0; i < count; i++)
		all = (place_of(contexts[i].id) != NULL || stock(&contexts[i])) && all;
	if (all)
		atomic_store(&stocked, changes);
	atomic_flag_clear(&stocking);
}

void gs_marks_reset(void)
{
	atomic_flag_clear(&stocking);
}

static bool record(struct marked *place, unsigned mark)
{
	CUresult result = CUDA_ERROR_NOT_SUPPORTED;
	bool pushed;

	if (place == NULL || !gs_context_enter(place->context, &pushed))
		return false;
#if CUDA_VERSION >= 12050
	result = gs_driver.cuCtxRecordEvent(place->context, place->events[mark]);
#endif
	gs_context_leave(pushed);
	place->open[mark] = result == CUDA_SUCCESS;
	return place->open[mark];
}

static void forget(unsigned mark)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		places[i].open[mark] = false;
}

bool gs_mark_make(unsigned mark)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	unsigned count;
	bool made = true;
	int cancel;

	if (!gs_order_enter(&cancel))
		return false;
	count = gs_context_list(contexts, GS_CONTEXT_LIMIT);
	for (unsigned i = 0; i < count && made; i++)
		made = record(place_of(contexts[i].id), mark);
	gs_order_leave(cancel);
	if (!made)
		forget(mark);
	return made;
}

bool gs_mark_passed(unsigned mark)
{
	int cancel;
	bool passed = true;

	if (!gs_order_enter(&cancel))
		return false;
	for (unsigned i = 0; i < CONTEXTS && passed; i++)
		if (places[i].open[mark] && is_alive(&places[i]))
			passed = gs_driver.cuEventQuery(places[i].events[mark]) != CUDA_ERROR_NOT_READY;
	gs_order_leave(cancel);
	if (passed)
		forget(mark);
	return passed;
}
