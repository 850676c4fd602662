/* Rule: a user object lives while the program, a graph or an executable graph holds a reference, and while a launch is
 * under way; then its destructor runs, on a thread of the driver. */
#include <stdatomic.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

static atomic_int destroyed;

static void CUDA_CB destroy(void *data)
{
	atomic_fetch_add(&destroyed, *(int *)data);
}

/* The destructor runs when the driver gets to it. */
static int soon(int wanted)
{
	for (int i = 0; i < 5000 && atomic_load(&destroyed) != wanted; i++)
		usleep(1000);
	return atomic_load(&destroyed);
}

int main(void)
{
	static int one = 1, ten = 10;
	CUuserObject object, second;
	CUgraph graph, clone;
	CUgraphExec exec;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	WANT(cuUserObjectCreate(&object, &one, destroy, 1, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuUserObjectCreate(&object, &one, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
	     CUDA_ERROR_INVALID_VALUE);
	NEED(cuUserObjectCreate(&object, &one, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	NEED(cuUserObjectRetain(object, 1));
	NEED(cuUserObjectRelease(object, 1));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	NEED(cuGraphClone(&clone, graph));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(clone));
	WANT(atomic_load(&destroyed), 0);
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	WANT(atomic_load(&destroyed), 0);
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuStreamSynchronize(stream));
	NEED(cuCtxSynchronize());
	WANT(soon(1), 1);

	NEED(cuUserObjectCreate(&second, &ten, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphRetainUserObject(graph, second, 1, 0));
	NEED(cuUserObjectRelease(second, 2));
	WANT(atomic_load(&destroyed), 1);
	NEED(cuGraphReleaseUserObject(graph, second, 1));
	WANT(soon(11), 11);
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
