/* Memory of graphs: see sim_graph_memory.h. */
#include "tests/sim/cuda/sim_graph_memory.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_shadow.h"

struct sim_chunk {
	struct sim_device *device;
	uint64_t size_bytes;
	struct sim_graph_memory *memory; /* NULL = nobody's */
	struct sim_point used;		 /* the end of its last launch; holds a reference */
	uint64_t launch;		 /* that it was last mapped for */
	struct sim_chunk *next;
};

static struct sim_graph_memory *all;
static struct sim_chunk *chunks;
static uint64_t used_high[SIM_DEVICES_MAX];
static uint64_t reserved_high[SIM_DEVICES_MAX];

CUresult sim_graph_memory_new(const struct sim_graph *graph, struct sim_device *device, size_t size_bytes,
			      struct sim_graph_memory **ret_memory)
{
	struct sim_graph_memory *memory;
	uintptr_t start;

	if (size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	start = sim_pages_map(size_bytes);
	if (!start)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		abort();
	memory->range = sim_range_add((struct sim_range){.start = start,
							 .size_bytes = size_bytes,
							 .kind = SIM_RANGE_GRAPH,
							 .device = device,
							 .graph_memory = memory});
	memory->graph = graph;
	memory->refs = 1;
	memory->next = all;
	all = memory;
	*ret_memory = memory;
	return CUDA_SUCCESS;
}

struct sim_graph_memory *sim_graph_memory_get(struct sim_graph_memory *memory)
{
	memory->refs++;
	return memory;
}

static size_t whole_bytes(const struct sim_graph_memory *memory)
{
	return sim_pages_round(memory->range->size_bytes);
}

static void chunk_use(struct sim_chunk *chunk, struct sim_point end)
{
	if (end.stream)
		sim_stream_get(end.stream);
	if (chunk->used.stream)
		sim_stream_put(chunk->used.stream);
	chunk->used = end;
}

static void chunk_free(struct sim_chunk **link)
{
	struct sim_chunk *chunk = *link;

	*link = chunk->next;
	if (chunk->memory)
		chunk->memory->chunk = NULL;
	chunk_use(chunk, (struct sim_point){NULL, 0});
	sim_device_discharge(chunk->device, chunk->size_bytes);
	free(chunk);
}

static bool chunk_idle(const struct sim_chunk *chunk, const struct sim_stream *stream)
{
	return !(chunk->memory && chunk->memory->live) &&
	       (sim_point_reached(chunk->used) || chunk->used.stream == stream);
}

void sim_graph_memory_put(struct sim_graph_memory *memory)
{
	struct sim_graph_memory **link = &all;

	if (--memory->refs)
		return;
	while (*link != memory)
		link = &(*link)->next;
	*link = memory->next;
	if (memory->chunk)
		memory->chunk->memory = NULL;
	sim_range_free(memory->range);
	free(memory);
}

struct sim_graph_memory *sim_graph_memory_find(uintptr_t address)
{
	struct sim_range *range = sim_range_find(address);

	return range && range->kind == SIM_RANGE_GRAPH && range->start == address ? range->graph_memory : NULL;
}

static uint64_t device_bytes(const struct sim_device *device)
{
	uint64_t sum = 0;

	for (const struct sim_chunk *chunk = chunks; chunk; chunk = chunk->next)
		sum += chunk->device == device ? chunk->size_bytes : 0;
	return sum;
}

static CUresult chunk_new(struct sim_device *device, uint64_t size_bytes, struct sim_chunk **ret_chunk)
{
	struct sim_chunk *chunk;
	uint64_t sum;

	SIM_TRY(sim_device_charge(device, size_bytes));
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		abort();
	*chunk = (struct sim_chunk){.device = device, .size_bytes = size_bytes, .next = chunks};
	chunks = chunk;
	sum = device_bytes(device);
	if (sum > used_high[device->ordinal])
		used_high[device->ordinal] = sum;
	if (sum > reserved_high[device->ordinal])
		reserved_high[device->ordinal] = sum;
	*ret_chunk = chunk;
	return CUDA_SUCCESS;
}

CUresult sim_graph_memory_map(struct sim_graph_memory *memory, const struct sim_stream *stream, uint64_t launch)
{
	struct sim_chunk *chunk = memory->chunk ? memory->chunk : chunks;

	while (!memory->chunk && chunk &&
	       (chunk->device != memory->range->device || chunk->size_bytes != whole_bytes(memory) ||
		chunk->launch == launch || !chunk_idle(chunk, stream)))
		chunk = chunk->next;
	if (!chunk)
		SIM_TRY(chunk_new(memory->range->device, whole_bytes(memory), &chunk));
	if (chunk->memory)
		chunk->memory->chunk = NULL;
	chunk->memory = memory;
	chunk->launch = launch;
	memory->chunk = chunk;
	return CUDA_SUCCESS;
}

struct sim_op *sim_graph_memory_alloc_op(struct sim_graph_memory *memory)
{
	if (!memory->live)
		sim_graph_memory_get(memory);
	memory->live = true;
	return sim_op_new(SIM_OP_ALLOC, 0);
}

void sim_graph_memory_own(struct sim_graph_memory *memory, struct sim_stream *stream)
{
	sim_shadow_own(memory->range->start, memory->range->size_bytes, stream);
}

static void free_drop(struct sim_op *op)
{
	sim_graph_memory_put(*(struct sim_graph_memory **)op->payload);
}

struct sim_op *sim_graph_memory_free_op(struct sim_graph_memory *memory)
{
	struct sim_op *op = sim_op_new(SIM_OP_FREE, sizeof(memory));

	sim_op_touch(op, memory->range->start, memory->range->size_bytes, true);
	sim_shadow_disown(memory->range->start);
	if (!memory->live)
		return op;
	memory->live = false;
	*(struct sim_graph_memory **)op->payload = memory;
	op->drop = free_drop;
	return op;
}

void sim_graph_memory_use(struct sim_graph_memory *memory, struct sim_point end)
{
	if (memory->chunk)
		chunk_use(memory->chunk, end);
}

CUresult sim_graph_memory_free(struct sim_graph_memory *memory, struct sim_stream *stream)
{
	if (!memory->live || memory->freer == memory->graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream)
		sim_stream_submit(stream, sim_graph_memory_free_op(memory));
	else
		sim_op_free(sim_graph_memory_free_op(memory));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct sim_chunk **link = &chunks;
	struct sim_device *device;

	SIM_ENTER(cuDeviceGraphMemTrim);
	SIM_TRY(sim_device_get(ordinal, &device));
	while (*link) {
		if ((*link)->device == device && chunk_idle(*link, NULL))
			chunk_free(link);
		else
			link = &(*link)->next;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetGraphMemAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = device_bytes(device);
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = used_high[ordinal];
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = reserved_high[ordinal];
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceSetGraphMemAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!value || *(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		used_high[ordinal] = device_bytes(device);
	else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		reserved_high[ordinal] = device_bytes(device);
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
