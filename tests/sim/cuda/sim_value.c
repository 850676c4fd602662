/* Waiting for values and writing them: see sim_value.h. A wait lets other work go on, that of other threads and
 * processes too, until the value is there. */
#include "tests/sim/cuda/sim_value.h"

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

#define BATCH_MAX 255

struct value {
	CUstreamBatchMemOpParams params;
	struct sim_ctx *ctx;
};

static size_t value_bytes(CUstreamBatchMemOpType operation)
{
	return operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4;
}

static bool is_wait(const CUstreamBatchMemOpParams *params)
{
	return params->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
	       params->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static bool is_write(const CUstreamBatchMemOpParams *params)
{
	return params->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
	       params->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static CUresult address_check(CUdeviceptr address, size_t size_bytes)
{
	const struct sim_range *range = sim_range_find(address);

	if (address % size_bytes || !range || range->kind == SIM_RANGE_MANAGED ||
	    !sim_range_accessible(address, size_bytes, true, NULL))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult op_check(const CUstreamBatchMemOpParams *params)
{
	switch (params->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		if (params->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH)
			return CUDA_ERROR_NOT_SUPPORTED;
		if (params->waitValue.flags > CU_STREAM_WAIT_VALUE_NOR)
			return CUDA_ERROR_INVALID_VALUE;
		return address_check(params->waitValue.address, value_bytes(params->operation));
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		if (params->writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
			return CUDA_ERROR_INVALID_VALUE;
		return address_check(params->writeValue.address, value_bytes(params->operation));
	case CU_STREAM_MEM_OP_BARRIER:
		return params->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
											: CUDA_ERROR_INVALID_VALUE;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult sim_values_check(const CUstreamBatchMemOpParams *ops, unsigned count, unsigned flags)
{
	if (flags || count > BATCH_MAX || (count && !ops))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		SIM_TRY(op_check(&ops[i]));
	return CUDA_SUCCESS;
}

static uint64_t memory_read(const CUstreamBatchMemOpParams *params)
{
	uintptr_t address = params->waitValue.address;

	return value_bytes(params->operation) == 8 ? __atomic_load_n((uint64_t *)address, __ATOMIC_ACQUIRE)
						   : __atomic_load_n((uint32_t *)address, __ATOMIC_ACQUIRE);
}

/* True also when the memory is gone: running the operation then says so. */
static bool wait_ready(const struct sim_op *op)
{
	const CUstreamBatchMemOpParams *params = &((const struct value *)op->payload)->params;
	bool wide = value_bytes(params->operation) == 8;
	uint64_t wanted = wide ? params->waitValue.value64 : params->waitValue.value;
	uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t found;

	if (!sim_range_accessible(params->waitValue.address, value_bytes(params->operation), false, NULL))
		return true;
	found = memory_read(params);
	switch (params->waitValue.flags) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return wide ? (int64_t)(found - wanted) >= 0 : (int32_t)(found - wanted) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return found == wanted;
	case CU_STREAM_WAIT_VALUE_AND:
		return (found & wanted) != 0;
	default:
		return (~(found | wanted) & mask) != 0;
	}
}

static void value_run(struct sim_op *op)
{
	const struct value *value = (const struct value *)op->payload;
	const CUstreamBatchMemOpParams *params = &value->params;
	uintptr_t address = params->writeValue.address;

	if (!sim_range_accessible(address, value_bytes(params->operation), is_write(params), NULL))
		value->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	else if (params->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
		__atomic_store_n((uint64_t *)address, params->writeValue.value64, __ATOMIC_RELEASE);
	else if (params->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
		__atomic_store_n((uint32_t *)address, params->writeValue.value, __ATOMIC_RELEASE);
}

struct sim_op *sim_value_op(const CUstreamBatchMemOpParams *params, struct sim_ctx *ctx)
{
	bool wait = is_wait(params);
	struct sim_op *op = sim_op_new(wait ? SIM_OP_WAIT : SIM_OP_SET, sizeof(struct value));

	*(struct value *)op->payload = (struct value){*params, ctx};
	if (!wait && !is_write(params))
		return op;
	op->run = value_run;
	if (wait)
		op->ready = wait_ready;
	sim_op_touch(op, params->writeValue.address, value_bytes(params->operation), !wait);
	return op;
}

static CUresult values_submit(CUstream handle, bool per_thread, CUstreamBatchMemOpParams *ops, unsigned count,
			      unsigned flags)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
				    .memOp = {.count = count, .paramArray = ops}};
	struct sim_stream *stream;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	SIM_TRY(sim_values_check(ops, count, flags));
	if (count == 0)
		return CUDA_SUCCESS;
	if (stream->capture)
		return sim_capture_add(stream, &params);
	for (unsigned i = 0; i < count; i++)
		sim_stream_submit(stream, sim_value_op(&ops[i], stream->ctx));
	return CUDA_SUCCESS;
}

/* X(what, bits, member, field of the value) */
#define VALUE_FUNCTIONS(X)                                                                                             \
	X(Wait, WAIT, 32, waitValue, value)                                                                            \
	X(Wait, WAIT, 64, waitValue, value64)                                                                          \
	X(Write, WRITE, 32, writeValue, value)                                                                         \
	X(Write, WRITE, 64, writeValue, value64)

#define VALUE_VERSION(symbol, suffix, operation_, bits, member, field)                                                 \
	SIM_TWIN(symbol, suffix, (CUstream stream, CUdeviceptr address_, cuuint##bits##_t given, unsigned flags_),     \
		 (stream, address_, given, flags_))                                                                    \
	{                                                                                                              \
		CUstreamBatchMemOpParams op = {.operation = operation_};                                               \
                                                                                                                       \
		op.member.address = address_;                                                                          \
		op.member.field = given;                                                                               \
		op.member.flags = flags_;                                                                              \
		return values_submit(stream, per_thread, &op, 1, 0);                                                   \
	}
#define VALUE_FUNCTION(what, WHAT, bits, member, field)                                                                \
	VALUE_VERSION(cuStream##what##Value##bits, _ptsz, CU_STREAM_MEM_OP_##WHAT##_VALUE_##bits, bits, member, field) \
	VALUE_VERSION(cuStream##what##Value##bits##_v2, _ptsz, CU_STREAM_MEM_OP_##WHAT##_VALUE_##bits, bits, member,   \
		      field)
VALUE_FUNCTIONS(VALUE_FUNCTION)

SIM_TWIN(cuStreamBatchMemOp, _ptsz, (CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops, unsigned flags),
	 (stream, count, ops, flags))
{
	return values_submit(stream, per_thread, ops, count, flags);
}

SIM_TWIN(cuStreamBatchMemOp_v2, _ptsz, (CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops, unsigned flags),
	 (stream, count, ops, flags))
{
	return values_submit(stream, per_thread, ops, count, flags);
}
