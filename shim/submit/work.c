/* Work other than launches that may be put off (struct gs_submit_work). Of each piece it is known that the driver will take
 * it: its like has succeeded, and what it works on is proven now. Memory is: it lies in a live block of our allocator, on the
 * device of the context; whoever unmaps a block flushes first. An event is: its number is part of what is known. */
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/submit/event.h"
#include "shim/submit/known.h"
#include "shim/submit/lead.h"
#include "shim/submit/make.h"
#include "shim/submit/put.h"
#include "shim/submit/submit.h"

struct work_record {
	struct gsg_record head; /* its kind is that of the work */
	uint64_t context_id;
	CUcontext context;
	struct gs_submit_work work;
};

static bool has_event(const struct gs_submit_work *work)
{
	return work->kind == GS_SUBMIT_RECORD || work->kind == GS_SUBMIT_WAIT;
}

/* Without what is proven otherwise. */
static bool key_of(const struct gs_submit_work *work, struct gs_context *ret_context, struct gs_known_key *ret_key)
{
	uint64_t serial = 0;

	if (!gs_context_current(ret_context))
		return false;
	if (has_event(work)) {
		serial = gs_submit_event_serial(work->event);
		if (serial == 0)
			return false;
	}
	*ret_key = (struct gs_known_key){
		.epoch = work->epoch,
		.context_id = ret_context->id,
		.stream = work->stream,
		.kind = work->kind,
		.detail = serial,
	};
	return true;
}

static bool is_held(const struct gs_context *context, CUdeviceptr address, size_t size_bytes)
{
	struct gsa_block_info block;
	struct gs_device *device = gs_device_of(address, &block);

	return device != NULL && device->device == context->device &&
	       size_bytes <= block.address + block.reserved_bytes - address;
}

/* Bytes from the first to the last one that are set; 0: none, or not to be told. */
static size_t set_bytes(const struct gs_set *set)
{
	size_t width_bytes, rows_bytes;

	if (__builtin_mul_overflow(set->width, set->element_bytes, &width_bytes) || set->to % set->element_bytes != 0)
		return 0;
	if (set->flat || width_bytes == 0)
		return width_bytes;
	if (set->rows == 0 || set->pitch < width_bytes || set->pitch % set->element_bytes != 0 ||
	    __builtin_mul_overflow(set->rows - 1, set->pitch, &rows_bytes) ||
	    __builtin_add_overflow(rows_bytes, width_bytes, &rows_bytes))
		return 0;
	return rows_bytes;
}

static bool is_proven(const struct gs_submit_work *work, const struct gs_context *context)
{
	size_t size_bytes;

	switch (work->kind) {
	case GS_SUBMIT_COPY:
		return work->copy.size_bytes != 0 && is_held(context, work->copy.to, work->copy.size_bytes) &&
		       is_held(context, work->copy.from, work->copy.size_bytes);
	case GS_SUBMIT_SET:
		size_bytes = set_bytes(&work->set);
		return size_bytes != 0 && is_held(context, work->set.to, size_bytes);
	default:
		return true;
	}
}

static bool put(const struct gs_call *call, const struct gs_context *context, const struct gs_submit_work *work)
{
	struct work_record *record = (struct work_record *)gs_put_begin(call, work->kind, sizeof(*record));

	if (record == NULL)
		return false;
	record->context_id = context->id;
	record->context = context->handle;
	record->work = *work;
	gs_put_end();
	return true;
}

/* In the order of gs_submit_put. */
bool gs_submit_work_put(const struct gs_call *call, struct gs_submit_work *work)
{
	enum gs_submit_reason reason = gs_put_may(call, work->stream);
	struct gs_context context;
	struct gs_known_key key;
	bool ready;

	if (reason != GS_SUBMIT_MAY)
		return gs_put_not(reason);
	ready = gs_put_ready();
	if (ready && !gs_put_wants(call))
		return gs_put_not(GS_SUBMIT_FOR_RESTS);
	if (!ready || !gs_put_sees_all(call) || !key_of(work, &context, &key) || gs_known_find(&key) == NULL) {
		work->unknown = true;
		return gs_put_not(gs_submit_failed != 0	       ? GS_SUBMIT_FOR_ENDED
				  : has_event(work) && gs_submit_event_serial(work->event) == 0 ? GS_SUBMIT_FOR_EVENT
												: GS_SUBMIT_FOR_UNKNOWN);
	}
	if (!is_proven(work, &context))
		return gs_put_not(GS_SUBMIT_FOR_MEMORY);
	if (!gs_lead_may_put(0))
		return gs_put_not(GS_SUBMIT_FOR_LEAD);
	return put(call, &context, work) || gs_put_not(GS_SUBMIT_FOR_ENDED);
}

void gs_submit_work_learn(const struct gs_call *call, const struct gs_submit_work *work)
{
	struct gs_context context;
	struct gs_known_key key;

	if (work->epoch == gs_submit_epoch() && gs_put_may(call, work->stream) == GS_SUBMIT_MAY && key_of(work, &context, &key) &&
	    is_proven(work, &context) && gs_known_find(&key) == NULL && gs_put_start())
		gs_known_add(&key, &gs_known_plain);
}

/* --- the queue's thread -------------------------------------------------------------------------------------------- */

static CUresult make_set(const struct gs_set *set, CUstream stream)
{
	switch (set->element_bytes | (set->flat ? 0u : 8u)) {
	case 1:
		return gs_driver.cuMemsetD8Async(set->to, (unsigned char)set->value, set->width, stream);
	case 2:
		return gs_driver.cuMemsetD16Async(set->to, (unsigned short)set->value, set->width, stream);
	case 4:
		return gs_driver.cuMemsetD32Async(set->to, set->value, set->width, stream);
	case 8 | 1:
		return gs_driver.cuMemsetD2D8Async(set->to, set->pitch, (unsigned char)set->value, set->width, set->rows,
						   stream);
	case 8 | 2:
		return gs_driver.cuMemsetD2D16Async(set->to, set->pitch, (unsigned short)set->value, set->width, set->rows,
						    stream);
	default:
		return gs_driver.cuMemsetD2D32Async(set->to, set->pitch, set->value, set->width, set->rows, stream);
	}
}

CUresult gs_put_work_make(const struct gsg_record *head)
{
	const struct work_record *record = (const struct work_record *)head;
	const struct gs_submit_work *work = &record->work;
	CUresult entered = gs_make_enter(record->context_id, record->context);

	if (entered != CUDA_SUCCESS)
		return entered;
	switch (work->kind) {
	case GS_SUBMIT_COPY:
		return gs_driver.cuMemcpyDtoDAsync_v2(work->copy.to, work->copy.from, work->copy.size_bytes, work->stream);
	case GS_SUBMIT_SET:
		return make_set(&work->set, work->stream);
	case GS_SUBMIT_RECORD:
		return gs_driver.cuEventRecord(work->event, work->stream);
	default:
		return gs_driver.cuStreamWaitEvent(work->stream, work->event, 0);
	}
}

CUstream gs_put_work_stream(const struct gsg_record *head, uint64_t *ret_context_id)
{
	const struct work_record *record = (const struct work_record *)head;

	*ret_context_id = record->context_id;
	return record->work.stream;
}
