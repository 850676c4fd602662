/* User objects: see sim_user_object.h. */
#include "tests/sim/cuda/sim_user_object.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_device.h"
#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_host.h"

struct sim_user_object {
	CUhostFn destroy;
	void *data;
	unsigned owned; /* references of the program's own */
	unsigned refs;	/* all of them */
};

static void object_put(struct sim_user_object *object, unsigned count)
{
	object->refs -= count;
	if (object->refs)
		return;
	sim_handle_remove(object);
	sim_host_defer(object->destroy, object->data);
	free(object);
}

void sim_user_object_retain_all(struct sim_retained **list, const struct sim_retained *from)
{
	for (; from; from = from->next) {
		struct sim_retained *made = malloc(sizeof(*made));

		if (!made)
			abort();
		*made = (struct sim_retained){from->object, 1, *list};
		from->object->refs++;
		*list = made;
	}
}

void sim_user_object_drop_all(struct sim_retained **list)
{
	while (*list) {
		struct sim_retained *first = *list;

		*list = first->next;
		object_put(first->object, first->count);
		free(first);
	}
}

static CUresult object_find(CUuserObject handle, unsigned count, struct sim_user_object **ret_object)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_USER_OBJECT) || count == 0 || count > INT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_object = (struct sim_user_object *)handle;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject *handle, void *data, CUhostFn destroy, unsigned count, unsigned flags)
{
	struct sim_user_object *object;

	SIM_ENTER(cuUserObjectCreate);
	SIM_TRY(sim_ready());
	if (!handle || !destroy || count == 0 || count > INT32_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	object = malloc(sizeof(*object));
	if (!object)
		abort();
	*object = (struct sim_user_object){destroy, data, count, count};
	sim_handle_add(object, SIM_KIND_USER_OBJECT);
	*handle = (CUuserObject)object;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count)
{
	struct sim_user_object *object;

	SIM_ENTER(cuUserObjectRetain);
	SIM_TRY(object_find(handle, count, &object));
	object->owned += count;
	object->refs += count;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count)
{
	struct sim_user_object *object;

	SIM_ENTER(cuUserObjectRelease);
	SIM_TRY(object_find(handle, count, &object));
	if (count > object->owned)
		return CUDA_ERROR_INVALID_VALUE;
	object->owned -= count;
	object_put(object, count);
	return CUDA_SUCCESS;
}

static struct sim_retained **retained_find(struct sim_graph *graph, const struct sim_user_object *object)
{
	struct sim_retained **link = &graph->retained;

	while (*link && (*link)->object != object)
		link = &(*link)->next;
	return link;
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count, unsigned flags)
{
	struct sim_user_object *object;
	struct sim_retained **link;
	struct sim_graph *graph;

	SIM_ENTER(cuGraphRetainUserObject);
	SIM_TRY(sim_graph_find(graph_handle, &graph));
	SIM_TRY(object_find(handle, count, &object));
	if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags && count > object->owned)
		return CUDA_ERROR_INVALID_VALUE;
	link = retained_find(graph, object);
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			abort();
		(*link)->object = object;
	}
	(*link)->count += count;
	if (flags)
		object->owned -= count;
	else
		object->refs += count;
	return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count)
{
	struct sim_user_object *object;
	struct sim_retained **link, *found;
	struct sim_graph *graph;

	SIM_ENTER(cuGraphReleaseUserObject);
	SIM_TRY(sim_graph_find(graph_handle, &graph));
	SIM_TRY(object_find(handle, count, &object));
	link = retained_find(graph, object);
	found = *link;
	if (!found || count > found->count)
		return CUDA_ERROR_INVALID_VALUE;
	found->count -= count;
	if (found->count == 0) {
		*link = found->next;
		free(found);
	}
	object_put(object, count);
	return CUDA_SUCCESS;
}
