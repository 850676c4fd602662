/* See fences.h. Events come from the stock (stock.h). A fence whose context has died is done: the context waited for its work. */
#include "shim/core/fences.h"

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"
#include "shim/base/slab.h"
#include "shim/core/conf.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/core/device_ops.h"
#include "shim/core/mode.h"
#include "shim/core/moment.h"
#include "shim/core/order.h"
#include "shim/core/stock.h"
#include "shim/core/thread.h"
#include "shim/submit/submit.h"

struct fence {
	struct gs_stocked *events;
};

static struct gsb_lock fence_lock = GSB_LOCK_INIT(LIVE);
static struct gsb_slab fence_slab; /* see slab */

static struct gsb_slab *slab(void)
{
	gsb_debug_assert(gsb_lock_held(&fence_lock));
	return &fence_slab;
}

void gs_fences_init(void)
{
	gsb_lock_acquire(&fence_lock);
	if (slab()->node_bytes == 0)
		gsb_slab_init(slab(), sizeof(struct fence));
	gsb_lock_release(&fence_lock);
}

static void fence_give(struct fence *fence)
{
	struct gs_stocked *event;

	while ((event = fence->events) != NULL) {
		fence->events = event->next;
		gs_stock_give(event);
	}
	gsb_lock_acquire(&fence_lock);
	gsb_slab_give(slab(), fence);
	gsb_lock_release(&fence_lock);
}

static struct fence *fence_take(void)
{
	struct fence *fence;

	gsb_lock_acquire(&fence_lock);
	fence = gsb_slab_take(slab());
	gsb_lock_release(&fence_lock);
	return fence;
}

/* A driver before 12.5 cannot record all work of a context. */
static bool records_contexts(void)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent != NULL;
#else
	return false;
#endif
}

static CUresult record_context(CUcontext handle, CUevent event)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent(handle, event);
#else
	(void)handle;
	(void)event;
	return CUDA_ERROR_NOT_SUPPORTED;
#endif
}

/* The default streams are covered by the whole context: an event recorded on the legacy one would order the blocking
 * streams against each other, and the per-thread one means another stream in each thread (H16). */
static bool is_default_stream(const struct gsa_stream *stream)
{
	return stream->handle <= (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD;
}

/* Adds one event to the fence: of a stream, or of the whole context when stream is NULL. */
static int fence_add(struct fence *fence, const struct gs_context *context, const struct gsa_stream *stream)
{
	struct gs_stocked *event;
	CUresult result = CUDA_SUCCESS;
	bool pushed;

	event = gs_stock_take(context);
	if (event == NULL)
		return GS_E_NO_HOST_MEMORY;
	if (!gs_context_enter(context->handle, &pushed)) {
		gs_stock_give(event);
		return GS_E_NOT_FOUND;
	}
	if (event->event == NULL)
		result = gs_driver.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING);
	if (result == CUDA_SUCCESS)
		result = stream != NULL ? gs_driver.cuEventRecord(event->event, (CUstream)(uintptr_t)stream->handle)
					: record_context(context->handle, event->event);
	gs_context_leave(pushed);
	if (result != CUDA_SUCCESS) {
		gs_stock_give(event);
		return stream != NULL ? GS_E_NOT_FOUND : gs_driver_error(result);
	}
	event->next = fence->events;
	fence->events = event;
	return GS_OK;
}

/* A fence over these contexts, or over one stream of the only one. Entered (gs_order_enter). */
static int fence_record(const struct gs_context *contexts, unsigned count, const struct gsa_stream *stream,
			uint64_t *ret_fence)
{
	struct fence *fence = fence_take();
	int error = GS_OK;

	if (fence == NULL)
		return GS_E_NO_HOST_MEMORY;
	for (unsigned i = 0; i < count && error == GS_OK; i++)
		error = fence_add(fence, &contexts[i], stream);
	if (error != GS_OK) {
		fence_give(fence);
		return error;
	}
	*ret_fence = (uint64_t)(uintptr_t)fence;
	return GS_OK;
}

/* Where contexts cannot be recorded the host waits for them: then a fence of nothing covers them. Nobody is inside
 * meanwhile (gs_order_enter), so captures may begin. */
static int fence_waited(const struct gs_context *contexts, unsigned count, uint64_t *ret_fence)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		if (gs_context_wait(contexts[i].handle, &result) == GS_E_FORBIDDEN)
			return GS_E_FORBIDDEN;
	return result == CUDA_SUCCESS ? fence_record(NULL, 0, NULL, ret_fence) : gs_driver_error(result);
}

/* An event of the whole context that is recorded after a stream's end may not cover what is queued on it. So a stream
 * that ends during a capture, of which it is no part, gets its event all the same: that breaks no capture in a relaxed
 * exchange (H9). One that ends while a context does is recorded on afterwards. */
static int fence_ending(const struct gsa_stream *stream, uint64_t *ret_fence)
{
	struct gs_order_relaxed saved;
	struct gs_context context;
	int error = GS_E_NOT_FOUND;

	if (is_default_stream(stream) || gs_order_stream_captures((CUstream)(uintptr_t)stream->handle))
		return GS_E_FORBIDDEN;
	saved = gs_order_relaxed_begin();
	if (gs_context_find((CUcontext)(uintptr_t)stream->owner, &context))
		error = fence_record(&context, 1, stream, ret_fence);
	gs_order_relaxed_end(saved);
	return error;
}

int gs_fence_stream(void *user, const struct gsa_stream *stream, uint64_t *ret_fence)
{
	bool whole = is_default_stream(stream);
	struct gs_context context;
	int error = GS_E_NOT_FOUND, cancel;

	(void)user;
	gs_submit_flush();
	if (whole && !records_contexts())
		return gs_context_find((CUcontext)(uintptr_t)stream->owner, &context)
			   ? fence_waited(&context, 1, ret_fence)
			   : GS_E_NOT_FOUND;
	while (!gs_order_enter(&cancel)) {
		if (!stream->ending)
			return GS_E_FORBIDDEN;
		if (gs_order_capturing())
			return fence_ending(stream, ret_fence);
		gs_order_await();
	}
	if (gs_context_find((CUcontext)(uintptr_t)stream->owner, &context))
		error = fence_record(&context, 1, whole ? NULL : stream, ret_fence);
	gs_order_leave(cancel);
	return error;
}

int gs_fence_all(void *user, uint64_t *ret_fence)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	int error, cancel;

	(void)user;
	gs_submit_flush();
	if (!records_contexts())
		return fence_waited(contexts, gs_context_list(contexts, GS_CONTEXT_LIMIT), ret_fence);
	if (!gs_order_enter(&cancel))
		return GS_E_FORBIDDEN;
	error = fence_record(contexts, gs_context_list(contexts, GS_CONTEXT_LIMIT), NULL, ret_fence);
	gs_order_leave(cancel);
	return error;
}

/* A context that is gone has waited for its work. */
static int events_poll(const struct fence *fence)
{
	for (const struct gs_stocked *event = fence->events; event != NULL; event = event->next) {
		CUresult result = gs_stock_lives(event) ? gs_driver.cuEventQuery(event->event) : CUDA_SUCCESS;

		if (result == CUDA_ERROR_NOT_READY)
			return 0;
		if (result != CUDA_SUCCESS)
			return GS_E_DRIVER;
	}
	return 1;
}

int gs_fence_poll(void *user, uint64_t token)
{
	int answer, cancel;

	(void)user;
	if (!gs_order_enter(&cancel))
		return 0;
	answer = events_poll((const struct fence *)(uintptr_t)token);
	gs_order_leave(cancel);
	return answer;
}

int gs_fence_wait(void *user, uint64_t token)
{
	const struct fence *fence = (const struct fence *)(uintptr_t)token;
	struct gs_order_relaxed saved;
	int error = GS_OK;

	(void)user;
	if (gs_order_capturing())
		return GS_E_FORBIDDEN;
	gs_thread.memory_work++;
	saved = gs_order_relaxed_begin();
	for (const struct gs_stocked *event = fence->events; event != NULL && error == GS_OK; event = event->next)
		if (gs_stock_lives(event))
			error = gs_driver_error(gs_driver.cuEventSynchronize(event->event));
	gs_order_relaxed_end(saved);
	return error;
}

void gs_fence_drop(void *user, uint64_t token)
{
	(void)user;
	fence_give((struct fence *)(uintptr_t)token);
}

/* What had been submitted by all threads before the last barrier, and where that was. Written together under the lock. */
static struct {
	uint64_t context_id, work;
} barrier_last;

/* Whether all work is seen. */
static bool work_is_seen(void)
{
	return gs_mode() == GS_MODE_ACTIVE && !gs_order_blind() && gs_conf.free_sync != GS_FREE_SYNC_ALWAYS;
}

static bool work_is_counted(bool ended, uint64_t *ret_count)
{
	return work_is_seen() && gs_counter_work(ended, ret_count);
}

static bool barrier_stands(const struct gs_context *context)
{
	uint64_t begun;
	bool stands;

	if (!work_is_counted(false, &begun))
		return false;
	gsb_lock_acquire(&fence_lock);
	stands = barrier_last.context_id == context->id && barrier_last.work == begun;
	gsb_lock_release(&fence_lock);
	return stands;
}

static void barrier_keep(const struct gs_context *context, uint64_t work)
{
	gsb_lock_acquire(&fence_lock);
	barrier_last.context_id = context->id;
	barrier_last.work = work;
	gsb_lock_release(&fence_lock);
}

/* Events recorded by frees on blocking streams. The driver does not take a record for work of the stream: whoever waits for a stream
 * that was given nothing else would not wait for what the legacy one was given before (asked of a driver 580). So ours is waited for,
 * and asked, with the stream. */
static struct command {
	uint64_t stream_id;
	uint64_t number;    /* of its record: no other has it */
	unsigned recording; /* threads that record anew: it stays meanwhile, for others may be waiting for the stream */
	struct gs_stocked *event;
	struct command *next;
} *commands; /* see command_list */
static uint64_t commands_ever; /* guarded likewise */
static struct gsb_slab command_slab; /* guarded likewise */
GSB_HOT _Atomic unsigned gs_fence_command_count;

static struct command **command_list(void)
{
	gsb_debug_assert(gsb_lock_held(&fence_lock));
	return &commands;
}

static struct command **command_find(uint64_t stream_id)
{
	struct command **link = command_list();

	while (*link != NULL && (*link)->stream_id != stream_id)
		link = &(*link)->next;
	return link;
}

/* Its event is the caller's to give back. */
static struct gs_stocked *command_drop(struct command **link)
{
	struct command *command = *link;
	struct gs_stocked *event = command->event;

	*link = command->next;
	gsb_slab_give(&command_slab, command);
	atomic_fetch_sub(&gs_fence_command_count, 1);
	return event;
}

/* The stream's own from now on. False: no host memory. */
static bool command_keep(uint64_t stream_id, struct gs_stocked *event)
{
	struct command *command;

	gsb_lock_acquire(&fence_lock);
	if (command_slab.node_bytes == 0)
		gsb_slab_init(&command_slab, sizeof(*command));
	command = gsb_slab_take(&command_slab);
	if (command != NULL) {
		*command = (struct command){
		    .stream_id = stream_id, .number = ++commands_ever, .event = event, .next = *command_list()};
		*command_list() = command;
		atomic_fetch_add(&gs_fence_command_count, 1);
	}
	gsb_lock_release(&fence_lock);
	return command != NULL;
}

/* The event that the stream has already, to be recorded anew, followed by command_recorded; NULL. */
static struct gs_stocked *command_begin(uint64_t stream_id)
{
	struct gs_stocked *event = NULL;
	struct command **link;

	gsb_lock_acquire(&fence_lock);
	link = command_find(stream_id);
	if (*link != NULL) {
		(*link)->recording++;
		event = (*link)->event;
	}
	gsb_lock_release(&fence_lock);
	return event;
}

static void command_recorded(uint64_t stream_id)
{
	struct command **link;

	gsb_lock_acquire(&fence_lock);
	link = command_find(stream_id);
	if (*link != NULL) {
		(*link)->recording--;
		(*link)->number = ++commands_ever;
	}
	gsb_lock_release(&fence_lock);
}

/* Threads that free on the stream at the same time for the first time make one command each: all are asked. */
static CUresult command_ask(const struct gsa_stream *stream, CUresult (*ask)(CUevent event))
{
	struct command asked = {.event = NULL};
	struct gs_order_relaxed saved;
	struct gs_stocked *dropped = NULL;
	struct command **link;
	CUresult result;

	gsb_lock_acquire(&fence_lock);
	link = command_find(stream->id);
	if (*link != NULL)
		asked = **link;
	gsb_lock_release(&fence_lock);
	if (asked.event == NULL || !gs_stock_lives(asked.event))
		return CUDA_SUCCESS;
	saved = gs_order_relaxed_begin();
	result = ask(asked.event->event);
	gs_order_relaxed_end(saved);
	if (result == CUDA_ERROR_NOT_READY)
		return result;
	if (result != CUDA_SUCCESS)
		result = gs_moment_await((CUcontext)(uintptr_t)stream->owner);
	gsb_lock_acquire(&fence_lock);
	link = command_find(stream->id);
	if (*link != NULL && (*link)->number == asked.number && (*link)->recording == 0)
		dropped = command_drop(link);
	gsb_lock_release(&fence_lock);
	if (dropped != NULL)
		gs_stock_give(dropped);
	return dropped != NULL && result == CUDA_SUCCESS ? command_ask(stream, ask) : result;
}

CUresult gs_fence_command_wait(const struct gsa_stream *stream)
{
	return command_ask(stream, gs_driver.cuEventSynchronize);
}

CUresult gs_fence_command_query(const struct gsa_stream *stream)
{
	return command_ask(stream, gs_driver.cuEventQuery);
}

void gs_fence_command_ends(uint64_t stream_id)
{
	struct gs_stocked *event = NULL;
	struct command **link;

	gsb_lock_acquire(&fence_lock);
	link = command_find(stream_id);
	if (*link != NULL)
		event = command_drop(link);
	gsb_lock_release(&fence_lock);
	if (event != NULL)
		gs_stock_give(event);
}

/* One of a stream that is gone with its context; NULL: there is none. */
static struct gs_stocked *command_of_context(uint64_t context_id)
{
	struct gs_stocked *event = NULL;
	struct command **link;

	gsb_lock_acquire(&fence_lock);
	link = command_list();
	while (*link != NULL && (*link)->event->context_id != context_id)
		link = &(*link)->next;
	if (*link != NULL)
		event = command_drop(link);
	gsb_lock_release(&fence_lock);
	return event;
}

void gs_fences_context_gone(uint64_t context_id)
{
	struct gs_stocked *event;

	while ((event = command_of_context(context_id)) != NULL)
		gs_stock_give(event);
	gs_stock_context_gone(context_id);
}

static CUresult barrier_record(const struct gs_context *context, const struct gsa_stream *stream)
{
	CUstream handle = (CUstream)(uintptr_t)stream->handle;
	struct gs_stocked *event = command_begin(stream->id);
	CUresult result = CUDA_SUCCESS;

	if (event != NULL) {
		result = gs_driver.cuEventRecord(event->event, handle);
		command_recorded(stream->id);
		return result;
	}
	event = gs_stock_take(context);
	if (event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (event->event == NULL)
		result = gs_driver.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING);
	if (result == CUDA_SUCCESS)
		result = gs_driver.cuEventRecord(event->event, handle);
	if (result == CUDA_SUCCESS && handle != CU_STREAM_LEGACY) {
		if (command_keep(stream->id, event))
			return CUDA_SUCCESS;
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	gs_stock_give(event);
	return result;
}

/* While a capture is open, in a relaxed exchange: only one of a blocking stream is to be in the way. */
static CUresult barrier_make(const struct gs_context *context, const struct gsa_stream *stream)
{
	struct gs_order_relaxed saved;
	CUresult result;
	int cancel;

	gs_submit_flush();
	if (gs_order_enter(&cancel)) {
		result = barrier_record(context, stream);
		gs_order_leave(cancel);
		return result;
	}
	saved = gs_order_relaxed_begin();
	result = barrier_record(context, stream);
	gs_order_relaxed_end(saved);
	return result;
}

/* On the legacy stream, behind the work of all blocking ones. */
static CUresult barrier_of_all(const struct gs_context *context, const struct gsa_stream *legacy)
{
	uint64_t ended;
	CUresult result;
	bool counted;

	counted = work_is_counted(true, &ended);
	result = barrier_make(context, legacy);
	if (result == CUDA_SUCCESS && counted)
		barrier_keep(context, ended);
	return result;
}

bool gs_fence_barrier_stands(const struct gsa_stream *stream, uint64_t mark)
{
	struct gs_context context;

	if (stream->handle != (uint64_t)(uintptr_t)CU_STREAM_LEGACY)
		return mark == gs_order_legacy_watch() && work_is_seen();
	return gs_context_find((CUcontext)(uintptr_t)stream->owner, &context) && barrier_stands(&context);
}

CUresult gs_fence_barrier(const struct gsa_stream *stream, uint64_t *mark)
{
	uint64_t work = gs_order_legacy_watch();
	struct gs_context context;
	CUresult result;

	if (gs_fence_barrier_stands(stream, *mark))
		return CUDA_SUCCESS;
	if (!gs_context_find((CUcontext)(uintptr_t)stream->owner, &context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stream->handle == (uint64_t)(uintptr_t)CU_STREAM_LEGACY)
		return barrier_of_all(&context, stream);
	result = barrier_make(&context, stream);
	if (result == CUDA_SUCCESS)
		*mark = work;
	return result;
}

void gs_fences_check(const uint64_t *fences, size_t count)
{
	size_t events = atomic_load(&gs_fence_command_count);

	for (size_t i = 0; i < count; i++)
		for (const struct gs_stocked *event = ((const struct fence *)(uintptr_t)fences[i])->events;
		     event != NULL; event = event->next)
			events++;
	gsb_lock_acquire(&fence_lock);
	gsb_assert(slab()->total_count - slab()->free_count == count);
	gsb_lock_release(&fence_lock);
	gsb_assert(gs_stock_taken() == events);
}
