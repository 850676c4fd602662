/* See gsg_fake.h. */
#include "tests/lib/gsg_fake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/err.h"

struct fake_graph {
	uint32_t count;
	void *last;
	struct gsg_fake_made nodes[GSG_TRACE_NODES];
};

static void make(struct gsg_fake *fake, const struct gsg_fake_made *made)
{
	if (fake->made_count == fake->made_capacity) {
		fake->made_capacity = fake->made_capacity != 0 ? 2 * fake->made_capacity : 1024;
		fake->made = realloc(fake->made, fake->made_capacity * sizeof(*fake->made));
		assert(fake->made != NULL);
	}
	fake->made[fake->made_count++] = *made;
}

static struct gsg_fake_made made_of(const struct gsg_launch *launch)
{
	struct gsg_fake_made made = {.shape = launch->shape};

	memcpy(made.values, gsg_launch_values(launch), launch->shape.values_bytes);
	return made;
}

static bool refuses(struct gsg_fake *fake)
{
	return ++fake->calls == fake->refuse_at;
}

static void launch(void *user, const struct gsg_launch *launch)
{
	struct gsg_fake *fake = user;
	const struct gsg_fake_made made = made_of(launch);

	make(fake, &made);
	fake->launches++;
	fake->now_ns += fake->launch_ns;
}

static int graph_make(void *user, const struct gsg_launch *first, void **ret_graph)
{
	struct gsg_fake *fake = user;

	(void)first;
	if (refuses(fake))
		return GS_E_DRIVER;
	*ret_graph = calloc(1, sizeof(struct fake_graph));
	assert(*ret_graph != NULL);
	fake->graphs++;
	return GS_OK;
}

static int node_add(void *user, void *handle, const struct gsg_node *before, const struct gsg_launch *launch,
		    struct gsg_node *ret_node)
{
	struct fake_graph *graph = handle;

	if (refuses(user))
		return GS_E_DRIVER;
	assert((before != NULL ? before->handle : NULL) == graph->last);
	graph->last = (void *)(uintptr_t)(graph->count + 1);
	*ret_node = (struct gsg_node){.handle = graph->last, .function = launch->shape.function};
	graph->nodes[graph->count++] = made_of(launch);
	return GS_OK;
}

static int exec_make(void *user, void *graph, void **ret_exec)
{
	struct gsg_fake *fake = user;

	if (refuses(fake))
		return GS_E_NO_MEMORY;
	*ret_exec = malloc(sizeof(struct fake_graph));
	assert(*ret_exec != NULL);
	memcpy(*ret_exec, graph, sizeof(struct fake_graph));
	fake->execs++;
	fake->instantiated++;
	return GS_OK;
}

static int node_patch(void *user, void *exec, const struct gsg_node *node, const struct gsg_launch *launch)
{
	struct gsg_fake *fake = user;
	struct fake_graph *graph = exec;
	struct gsg_fake_made *made = &graph->nodes[(uintptr_t)node->handle - 1];

	if (refuses(fake))
		return GS_E_DRIVER;
	assert(node->function == launch->shape.function);
	assert(memcmp(&made->shape, &launch->shape, sizeof(made->shape)) == 0);
	*made = made_of(launch);
	fake->patches++;
	fake->now_ns += fake->patch_ns;
	return GS_OK;
}

static int exec_launch(void *user, void *exec, const struct gsg_launch *first)
{
	struct gsg_fake *fake = user;
	const struct fake_graph *graph = exec;

	if (refuses(fake))
		return GS_E_DRIVER;
	assert(first->shape.stream == graph->nodes[0].shape.stream);
	for (uint32_t i = 0; i < graph->count; i++)
		make(fake, &graph->nodes[i]);
	fake->exec_launches++;
	fake->now_ns += fake->exec_launch_ns;
	return GS_OK;
}

static void exec_end(void *user, void *exec)
{
	((struct gsg_fake *)user)->execs--;
	free(exec);
}

static void graph_end(void *user, void *graph)
{
	((struct gsg_fake *)user)->graphs--;
	free(graph);
}

static uint64_t now_ns(void *user)
{
	return ((struct gsg_fake *)user)->now_ns;
}

const struct gsg_graph_ops gsg_fake_ops = {
	.launch = launch,
	.graph_make = graph_make,
	.node_add = node_add,
	.exec_make = exec_make,
	.node_patch = node_patch,
	.exec_launch = exec_launch,
	.exec_end = exec_end,
	.graph_end = graph_end,
	.now_ns = now_ns,
};

void gsg_fake_init(struct gsg_fake *fake)
{
	*fake = (struct gsg_fake){.launch_ns = 3000, .exec_launch_ns = 1500, .patch_ns = 450};
}

void gsg_fake_end(struct gsg_fake *fake)
{
	free(fake->made);
	*fake = (struct gsg_fake){0};
}

void gsg_fake_launch(struct gsg_fake_launch *launch, uint64_t context_id, uintptr_t stream, uintptr_t function,
		     const uint32_t values[], uint32_t count, bool first)
{
	memset(launch, 0, sizeof(*launch));
	launch->launch.head = (struct gsg_record){.size_bytes = sizeof(*launch), .kind = 1, .first = first};
	launch->launch.values_offset = offsetof(struct gsg_fake_launch, values);
	launch->launch.shape = (struct gsg_shape){
		.context_id = context_id,
		.function = (void *)function,
		.stream = (void *)stream,
		.grid = {(uint32_t)function % 7 + 1, 1, 1},
		.block = {128, 1, 1},
		.values_bytes = count * (uint32_t)sizeof(*values),
		.flags = stream == 0 ? GSG_SHAPE_LEGACY : 0,
	};
	memcpy(launch->values, values, count * sizeof(*values));
}

bool gsg_fake_same(const struct gsg_fake_made *made, const struct gsg_fake_launch *launch)
{
	return memcmp(&made->shape, &launch->launch.shape, sizeof(made->shape)) == 0 &&
	       memcmp(made->values, launch->values, launch->launch.shape.values_bytes) == 0;
}
