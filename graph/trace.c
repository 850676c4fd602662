/* See trace.h. A trace and all its parts are one piece of pages:
 *
 *   struct gsg_trace | nodes | recorded launches | arguments of each executable */
#include "graph/trace.h"

#include <string.h>

#include "graph/detect.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

#define EXEC_BYTES 65536u /* an estimate of what the driver holds for an executable, */
#define NODE_BYTES 4096u  /* and for each node of it */

static size_t aligned(size_t size_bytes)
{
	return (size_bytes + 15) & ~(size_t)15;
}

struct gsg_trace *gsg_trace_new(const struct gsg_launch *const *launches, uint32_t count, uint64_t place)
{
	size_t at = aligned(sizeof(struct gsg_trace)) + aligned(count * sizeof(struct gsg_trace_node));
	size_t launches_bytes = 0, values_bytes = 0;
	struct gsg_trace *trace;
	unsigned char *piece;

	gsb_assert(count != 0 && count <= GSG_TRACE_NODES);
	for (uint32_t i = 0; i < count; i++) {
		launches_bytes += launches[i]->head.size_bytes;
		values_bytes += aligned(launches[i]->shape.values_bytes);
	}
	trace = gsb_os_pages_map(at + launches_bytes + GSG_TRACE_TURNS * values_bytes);
	if (trace == NULL)
		return NULL;
	trace->pages_bytes = at + launches_bytes + GSG_TRACE_TURNS * values_bytes;
	trace->place = place;
	trace->count = count;
	trace->nodes = (struct gsg_trace_node *)((unsigned char *)trace + aligned(sizeof(*trace)));
	piece = (unsigned char *)trace + at;
	for (unsigned turn = 0; turn < GSG_TRACE_TURNS; turn++)
		trace->execs[turn].values = piece + launches_bytes + turn * values_bytes;
	values_bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		trace->nodes[i] = (struct gsg_trace_node){
			.launch = memcpy(piece, launches[i], launches[i]->head.size_bytes),
			.values_at = values_bytes,
			.token = gsg_launch_token(launches[i])};
		piece += launches[i]->head.size_bytes;
		values_bytes += aligned(launches[i]->shape.values_bytes);
	}
	return trace;
}

void gsg_trace_free(struct gsg_trace *trace)
{
	gsb_assert(trace->graph == NULL && trace->exec_count == 0);
	gsb_os_pages_unmap(trace, trace->pages_bytes);
}

static bool same_shape(const struct gsg_launch *a, const struct gsg_launch *b)
{
	return memcmp(&a->shape, &b->shape, sizeof(a->shape)) == 0 &&
	       (a->shape.attribute_bytes == 0 ||
		memcmp(gsg_launch_attributes(a), gsg_launch_attributes(b), a->shape.attribute_bytes) == 0);
}

bool gsg_trace_is(const struct gsg_trace *trace, const struct gsg_launch *const *launches, uint32_t count)
{
	if (trace->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!same_shape(trace->nodes[i].launch, launches[i]))
			return false;
	return true;
}

/* --- the driver's part --------------------------------------------------------------------------------------------- */

/* The nodes of a new executable have the arguments as recorded. */
static int exec_add(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user)
{
	struct gsg_trace_exec *exec = &trace->execs[trace->exec_count];
	int error = ops->exec_make(user, trace->graph, &exec->exec);

	if (error != GS_OK)
		return error;
	for (uint32_t i = 0; i < trace->count; i++) {
		const struct gsg_trace_node *node = &trace->nodes[i];

		memcpy(exec->values + node->values_at, gsg_launch_values(node->launch), node->launch->shape.values_bytes);
	}
	trace->exec_count++;
	return GS_OK;
}

static int build(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user)
{
	const struct gsg_node *before = NULL;
	int error = ops->graph_make(user, trace->nodes[0].launch, &trace->graph);

	for (uint32_t i = 0; error == GS_OK && i < trace->count; i++) {
		error = ops->node_add(user, trace->graph, before, trace->nodes[i].launch, &trace->nodes[i].node);
		before = &trace->nodes[i].node;
	}
	return error == GS_OK ? exec_add(trace, ops, user) : error;
}

void gsg_trace_ruin(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user)
{
	trace->bad = true;
	for (uint32_t turn = 0; turn < trace->exec_count; turn++)
		ops->exec_end(user, trace->execs[turn].exec);
	trace->exec_count = 0;
	if (trace->graph != NULL)
		ops->graph_end(user, trace->graph);
	trace->graph = NULL;
}

int gsg_trace_build(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user)
{
	int error = build(trace, ops, user);

	if (error != GS_OK)
		gsg_trace_ruin(trace, ops, user);
	return error;
}

/* --- launches that come by ----------------------------------------------------------------------------------------- */

void gsg_trace_begin(struct gsg_trace *trace)
{
	if (trace->dirty_count != 0)
		memset(trace->dirty, 0, sizeof(trace->dirty));
	trace->dirty_count = 0;
}

bool gsg_trace_match(struct gsg_trace *trace, uint32_t at, const struct gsg_launch *launch)
{
	const struct gsg_trace_node *node = &trace->nodes[at];
	const unsigned char *told = trace->execs[trace->turn].values + node->values_at;

	if (!same_shape(node->launch, launch))
		return false;
	if (memcmp(told, gsg_launch_values(launch), launch->shape.values_bytes) != 0) {
		trace->dirty[at / 64] |= 1ull << at % 64;
		trace->dirty_count++;
	}
	return true;
}

static int patch(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user,
		 const struct gsg_launch *const *launches)
{
	struct gsg_trace_exec *exec = &trace->execs[trace->turn];

	for (uint32_t word = 0; word < GSG_TRACE_NODES / 64; word++)
		for (uint64_t left = trace->dirty[word]; left != 0; left &= left - 1) {
			uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(left);
			int error = ops->node_patch(user, exec->exec, &trace->nodes[at].node, launches[at]);

			if (error != GS_OK)
				return error;
			memcpy(exec->values + trace->nodes[at].values_at, gsg_launch_values(launches[at]),
			       launches[at]->shape.values_bytes);
		}
	return GS_OK;
}

int gsg_trace_launch(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user,
		     const struct gsg_launch *const *launches)
{
	int error = trace->dirty_count != 0 ? patch(trace, ops, user, launches) : GS_OK;

	if (error == GS_OK)
		error = ops->exec_launch(user, trace->execs[trace->turn].exec, launches[0]);
	if (error != GS_OK) {
		gsg_trace_ruin(trace, ops, user);
		return error;
	}
	trace->replays++;
	if (trace->dirty_count != 0 && trace->exec_count < GSG_TRACE_TURNS && trace->replays > 1)
		exec_add(trace, ops, user);
	trace->turn = (trace->turn + 1) % trace->exec_count;
	return GS_OK;
}

uint64_t gsg_trace_bytes(const struct gsg_trace *trace)
{
	return trace->pages_bytes + trace->exec_count * (EXEC_BYTES + (uint64_t)trace->count * NODE_BYTES);
}
