/* See mark.h. A context's events are kept until it is gone, one for each mark. */
#include "shim/submit/mark.h"

#include <stdatomic.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/core/device.h"
#include "shim/core/order.h"

#define CONTEXTS 8u /* of more there are no marks */

static struct marked {
	struct gs_context context; /* id 0: the place is free */
	CUevent events[GS_MARKS];
	_Atomic bool open[GS_MARKS]; /* recorded, and not known to have passed */
} places[CONTEXTS];

bool gs_marks_possible(void)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent != NULL;
#else
	return false;
#endif
}

static bool is_alive(const struct gs_context *context)
{
	struct gs_context now;

	return gs_context_find(context->handle, &now) && now.id == context->id;
}

static bool is_open(const struct marked *place)
{
	for (unsigned mark = 0; mark < GS_MARKS; mark++)
		if (place->open[mark])
			return true;
	return false;
}

static struct marked *place_of(const struct gs_context *context)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (places[i].context.id == context->id)
			return &places[i];
	return NULL;
}

/* NULL: all are taken. */
static struct marked *place_take(const struct gs_context *context)
{
	for (unsigned i = 0; i < CONTEXTS; i++) {
		struct marked *place = &places[i];

		if (place->context.id == 0 || (!is_alive(&place->context) && !is_open(place))) {
			place->context = *context;
			memset(place->events, 0, sizeof(place->events));
			return place;
		}
	}
	return NULL;
}

static void events_make(struct marked *place)
{
	bool pushed;

	if (place->events[GS_MARKS - 1] != NULL || !gs_context_enter(place->context.handle, &pushed))
		return;
	for (unsigned mark = 0; mark < GS_MARKS; mark++)
		if (place->events[mark] == NULL &&
		    gs_driver.cuEventCreate(&place->events[mark], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
			place->events[mark] = NULL;
			break;
		}
	gs_context_leave(pushed);
}

void gs_marks_stock(void)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	unsigned count = gs_context_list(contexts, GS_CONTEXT_LIMIT);

	for (unsigned i = 0; i < count; i++) {
		struct marked *place = place_of(&contexts[i]);

		if (place == NULL)
			place = place_take(&contexts[i]);
		if (place != NULL)
			events_make(place);
	}
}

static bool record(struct marked *place, unsigned mark)
{
	CUresult result = CUDA_ERROR_NOT_SUPPORTED;
	bool pushed;

	if (place == NULL || place->events[mark] == NULL || !gs_context_enter(place->context.handle, &pushed))
		return false;
#if CUDA_VERSION >= 12050
	result = gs_driver.cuCtxRecordEvent(place->context.handle, place->events[mark]);
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
		made = record(place_of(&contexts[i]), mark);
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
		if (places[i].open[mark] && is_alive(&places[i].context))
			passed = gs_driver.cuEventQuery(places[i].events[mark]) != CUDA_ERROR_NOT_READY;
	gs_order_leave(cancel);
	if (passed)
		forget(mark);
	return passed;
}
