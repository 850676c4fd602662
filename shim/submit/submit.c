/* See submit.h. */
#include "shim/submit/submit.h"

#include <stdlib.h>
#include <string.h>

#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/processors.h"
#include "shim/base/text.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/core/params.h"
#include "shim/submit/event.h"
#include "shim/submit/graph.h"
#include "shim/submit/import.h"
#include "shim/submit/lead.h"
#include "shim/submit/make.h"
#include "shim/submit/mark.h"
#include "shim/submit/put.h"

#define RING_BYTES (4u << 20)
#define SPIN_NS 500000u	    /* longer than most pauses of a program between two launches */
#define SPIN_SHORT_NS 20000u /* where a spinning thread takes the processor away from somebody */
#define SPIN_PROCESSORS 4u
#ifdef GSB_DEBUG
#define HOLD_NS 10000000u /* tests run beside others, and want to see graphs */
#define HOLD_LATE_NS 1000000000u
#else
#define HOLD_NS 5000u	     /* to wait for the rest of a graph's launches: about what it takes to make one */
#define HOLD_LATE_NS 100000u /* the same for a stream while others get launches, if no deadline is set */
#endif
#define PATIENCE 8u	    /* runs, */
#define PATIENCE_WORK 4096u /* and pieces of work */
#define PATIENCE_GRAPHS 64u /* to find out what repeats: */
#define PATIENCE_GRAPHS_WORK (4 * GSG_DETECT_TOKENS) /* the longest period comes twice, and is recorded */
#define SAMPLE_TICKS 1000000000u /* to turn a time into ticks */
#define LOAD_NS 2000u		 /* in which no object is loaded and called: the system has to map it */

/* Kinds of records beside those of work. */
enum {
	RECORD_DROP = GS_SUBMIT_KIND_COUNT, /* all graphs end */
	RECORD_MARK
};

struct mark_record {
	struct gsg_record head;
	uint64_t covers;
};

GSB_HOT _Atomic bool gs_submit_on, gs_submit_started;
GSB_HOT _Atomic int gs_submit_failed;

static struct gsg_queue queue;
GSB_HOT static bool graphs; /* launches go by way of graph.h: constant once the queue has started */
GSB_HOT static _Atomic uint64_t changes; /* of what launches depend on, beside the epoch */
GSB_HOT static uint64_t load_ticks;	 /* constant once the queue has started; 0 = not known */
static _Thread_local uint64_t looked_ticks __attribute__((tls_model("initial-exec")));

/* --- on and off ---------------------------------------------------------------------------------------------------- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* NULL: it can work. */
static const char *obstacle(void)
{
	if (is_set("CUDA_LAUNCH_BLOCKING"))
		return "CUDA_LAUNCH_BLOCKING is set";
	if (is_set("CUDA_INJECTION64_PATH"))
		return "a tool is injected";
	if (!gs_params_known() || gs_driver.cuFuncGetName == NULL || gs_driver.cuKernelGetName == NULL)
		return "the driver is older than 12.4"; /* H24 */
	if (!gs_lead_start())
		return "the driver is older than 12.5";
	if (gsb_processors() < 2)
		return "the process has one processor";
	return NULL;
}

void gs_submit_start(void)
{
	const char *why, *key = gs_conf.graph == GS_GRAPH_AUTO ? "graph:auto" : "submit:thread";

	if (gs_conf.submit != GS_SUBMIT_THREAD && gs_conf.graph != GS_GRAPH_AUTO)
		return;
	why = obstacle();
	if (why != NULL)
		gsb_log(GSB_LOG_INFO, "%s does nothing here: %s", key, why);
	else
		atomic_store(&gs_submit_on, true);
}

void gs_submit_stop(const char *why)
{
	if (atomic_exchange(&gs_submit_on, false))
		gsb_log(GSB_LOG_INFO, "launches are no longer put off: %s", why);
}

static void tell_graphs(void)
{
	static const char *const texts[GSG_PLAIN_COUNT] = {
#define TEXT(name, key, text) [GSG_PLAIN_##name] = (text),
		GSG_PLAIN_REASONS(TEXT)
#undef TEXT
	};
	const struct gsg_replay_stats *stats = gs_graph_stats();

	if (stats == NULL || atomic_load(&stats->launches) == 0)
		return;
	gsb_log(GSB_LOG_DEBUG, "%llu of %llu launches were made by %llu graphs, %llu of them with other arguments, in %llu launches",
		(unsigned long long)atomic_load(&stats->replayed), (unsigned long long)atomic_load(&stats->launches),
		(unsigned long long)atomic_load(&stats->built), (unsigned long long)atomic_load(&stats->patched),
		(unsigned long long)atomic_load(&stats->graph_launches));
	for (unsigned reason = 0; reason < GSG_PLAIN_COUNT; reason++)
		if (atomic_load(&stats->plain[reason]) != 0)
			gsb_log(GSB_LOG_DEBUG, "%llu were made one by one: %s", (unsigned long long)atomic_load(&stats->plain[reason]),
				texts[reason]);
}

void gs_submit_drop_graphs(void)
{
	if (!atomic_load(&gs_submit_started) || !graphs)
		return;
	if (gsg_queue_put_begin(&queue, RECORD_DROP, sizeof(struct gsg_record), __builtin_ia32_rdtsc()) != NULL)
		gsg_queue_put_end(&queue);
	gsg_queue_catch_up(&queue);
}

void gs_submit_end_graphs(const char *why)
{
	gs_graph_stop(why);
	gs_submit_drop_graphs();
}

uint64_t gs_submit_trim(void)
{
	uint64_t bytes = atomic_load(&gs_submit_started) && graphs ? atomic_load(&gs_graph_stats()->live_bytes) : 0;

	if (bytes != 0)
		gs_submit_drop_graphs();
	return bytes;
}

void gs_submit_end(void)
{
	atomic_store(&gs_submit_on, false);
	if (!atomic_load(&gs_submit_started))
		return;
	gsg_queue_close(&queue);
	tell_graphs();
	if (atomic_load(&queue.stats.records) != 0)
		gsb_log(GSB_LOG_DEBUG, "put off: %llu launches, %llu copies, %llu memsets, %llu records of events, %llu waits for events; %llu flushes waited %llu us for them",
			(unsigned long long)gs_submit_puts(GS_SUBMIT_LAUNCH),
			(unsigned long long)gs_submit_puts(GS_SUBMIT_COPY),
			(unsigned long long)gs_submit_puts(GS_SUBMIT_SET),
			(unsigned long long)gs_submit_puts(GS_SUBMIT_RECORD),
			(unsigned long long)gs_submit_puts(GS_SUBMIT_WAIT),
			(unsigned long long)atomic_load(&queue.stats.flushes),
			(unsigned long long)atomic_load(&queue.stats.flush_wait_ns) / 1000);
}

void gs_submit_after_fork(void)
{
	atomic_store(&gs_submit_on, false);
	if (atomic_load(&gs_submit_started))
		gsg_queue_forget(&queue);
	atomic_store(&gs_submit_started, false);
	gs_lead_reset();
	gs_attribute_reset_locks();
	gs_submit_event_reset_locks();
}

/* Not for work: it ends a run of it. */
static void await(bool ends_run)
{
	uint64_t start_ns = gsg_queue_empty(&queue) ? 0 : gsb_os_now_ns();

	if (ends_run)
		gsg_queue_flush(&queue);
	else
		gsg_queue_catch_up(&queue);
	if (start_ns != 0 && !gsg_queue_is_own())
		gs_submit_count_flush(gs_thread.driver_fn, gsb_os_now_ns() - start_ns);
}

void gs_submit_flush_queue(void)
{
	if (!gsg_queue_flush_resting(&queue))
		await(true);
}

uint64_t gs_submit_epoch(void)
{
	return gs_epoch() + atomic_load(&changes); /* both only grow */
}

void gs_submit_forget(void)
{
	atomic_fetch_add(&changes, 1);
}

void gs_submit_code_gone(void)
{
	if (!atomic_load(&gs_submit_on))
		return;
	gs_attribute_forget();
	gs_submit_forget();
}

void gs_submit_context_gone(void)
{
	gs_submit_code_gone();
	if (atomic_load(&gs_submit_on))
		gs_submit_event_forget();
}

bool gs_submit_attribute_stays(const struct gs_attribute *attribute, int value)
{
	if (atomic_load(&gs_submit_on) && gs_attribute_is(attribute, value))
		return true;
	gs_submit_flush();
	gs_submit_drop_graphs();
	return false;
}

void gs_submit_attribute_set(const struct gs_attribute *attribute, int value)
{
	if (!atomic_load(&gs_submit_on))
		return;
	gs_attribute_keep(attribute, value);
	gs_submit_forget();
}

/* --- the queue's thread -------------------------------------------------------------------------------------------- */

CUresult gs_make_enter(uint64_t context_id, void *context)
{
	static uint64_t current_id; /* of the queue's thread, which alone comes here */
	CUresult result = CUDA_SUCCESS;

	if (context_id != current_id)
		result = gs_driver.cuCtxSetCurrent(context);
	if (result == CUDA_SUCCESS)
		current_id = context_id;
	return result;
}

static void make(CUresult (*how)(const struct gsg_record *record), const struct gsg_record *record)
{
	CUresult result = how(record);
	int none = 0;

	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim_try() > 0) /* H28 */
		result = how(record);
	if (result == CUDA_SUCCESS)
		return;
	atomic_compare_exchange_strong(&gs_submit_failed, &none, (int)result);
	gs_submit_stop("the driver refused one");
}

void gs_make_launch(const struct gsg_launch *launch)
{
	make(gs_put_launch_make, &launch->head);
}

/* Graphs hold what they hold. */
static uint64_t run_mark(uint64_t covers)
{
	uint64_t oldest = GSG_NONE_HELD;
	uint32_t held = graphs ? gs_graph_held(&oldest) : 0;

	gs_lead_mark(covers, held);
	return oldest;
}

/* Launches on the stream of other work that are held go first. */
static uint64_t run(void *user, const struct gsg_record *record, uint64_t position)
{
	uint64_t held = GSG_NONE_HELD, context_id;
	CUstream stream;

	(void)user;
	gs_thread.inside = 1;
	if (record->kind == RECORD_DROP) {
		gs_graph_forget();
	} else if (record->kind == RECORD_MARK) {
		held = run_mark(((const struct mark_record *)record)->covers);
	} else if (record->kind != GS_SUBMIT_LAUNCH) {
		stream = gs_put_work_stream(record, &context_id);
		if (graphs)
			held = gs_graph_between(context_id, stream);
		make(gs_put_work_make, record);
	} else if (graphs) {
		held = gs_graph_launch((const struct gsg_launch *)record, position);
	} else {
		make(gs_put_launch_make, record);
	}
	return held;
}

static uint64_t ticks_of(uint64_t ns)
{
	uint64_t sample_ns = gs_ticks_to_ns(SAMPLE_TICKS);

	return sample_ns != 0 ? ns * SAMPLE_TICKS / sample_ns : 0;
}

/* Objects may have been loaded. */
static bool all_pass(void)
{
	const char *name = gs_import_unlisted();
	char why[128];
	struct gsb_text text;

	if (name == NULL)
		return true;
	gsb_text_init(&text, why, sizeof(why));
	gsb_text_add(&text, "the program imports ");
	gsb_text_add(&text, name);
	gsb_text_add(&text, ", which gpushim does not know");
	gs_submit_stop(why);
	return false;
}

/* The first thread that comes starts it; who comes meanwhile makes its launches itself. */
bool gs_put_start(void)
{
	static atomic_flag tried = ATOMIC_FLAG_INIT;
	struct gsg_queue_options options = {.ring_bytes = RING_BYTES};

	if (atomic_load(&gs_submit_started))
		return true;
	if (!all_pass() || atomic_flag_test_and_set(&tried))
		return false;
	options.spin_ns = gsb_processors() >= SPIN_PROCESSORS ? SPIN_NS : SPIN_SHORT_NS;
	options.pause_ticks = ticks_of(options.spin_ns);
	load_ticks = ticks_of(LOAD_NS);
	options.late_ticks = ticks_of(gs_conf.submit_deadline_us * 1000);
	options.settle = gs_graph_settle;
	options.hold_ns = HOLD_NS;
	if (gs_conf.submit_deadline_us != 0)
		options.patience = gs_conf.graph == GS_GRAPH_AUTO ? PATIENCE_GRAPHS : PATIENCE;
	options.patience_work = gs_conf.graph == GS_GRAPH_AUTO ? PATIENCE_GRAPHS_WORK : PATIENCE_WORK;
	graphs = gs_graph_start(options.late_ticks != 0 ? options.late_ticks : ticks_of(HOLD_LATE_NS), ticks_of(HOLD_NS));
#ifdef GSB_DEBUG
	options.eager = true;
	options.patience = 0;
#endif
	gs_marks_stock();
	if (gsg_queue_start(&queue, run, NULL, &options) != GS_OK) {
		gs_submit_stop("no thread could be made");
		return false;
	}
	atomic_store(&gs_submit_started, true);
	return true;
}

/* --- those who put ------------------------------------------------------------------------------------------------- */

enum gs_submit_reason gs_put_may(const struct gs_call *call, CUstream stream)
{
	if (stream == CU_STREAM_PER_THREAD || gs_fn_info[call->fn].per_thread)
		return GS_SUBMIT_FOR_STREAM;
	if (gs_order_capturing())
		return GS_SUBMIT_FOR_CAPTURE;
	return gs_order_broken() || gs_order_blind() ? GS_SUBMIT_FOR_SIGHT : GS_SUBMIT_MAY;
}

bool gs_submit_rests(const struct gs_call *call, CUstream stream)
{
	if (!atomic_load_explicit(&gs_submit_started, memory_order_relaxed) || gs_put_may(call, stream) != GS_SUBMIT_MAY ||
	    !gsg_queue_rests(&queue, gs_call_moment(call)))
		return false;
	gs_submit_count_direct(GS_SUBMIT_FOR_RESTS);
	return true;
}

bool gs_put_ready(void)
{
	return atomic_load(&gs_submit_started) && atomic_load(&gs_submit_failed) == 0;
}

bool gs_put_sees_all(const struct gs_call *call)
{
	uint64_t now_ticks = gs_call_moment(call);

	if (now_ticks - looked_ticks < load_ticks)
		return true;
	looked_ticks = now_ticks;
	return all_pass();
}

bool gs_put_wants(const struct gs_call *call)
{
	return gsg_queue_wants(&queue, gs_call_moment(call));
}

struct gsg_record *gs_put_begin(const struct gs_call *call, enum gs_submit_kind kind, size_t size_bytes)
{
	struct gsg_record *record = gsg_queue_put_begin(&queue, (uint16_t)kind, size_bytes, gs_call_moment(call));

	if (record != NULL)
		gs_submit_count_put(kind);
	return record;
}

void gs_put_end(void)
{
	gsg_queue_put_end(&queue);
}

void gs_put_mark(uint64_t covers)
{
	struct mark_record *record =
	    (struct mark_record *)gsg_queue_put_begin(&queue, RECORD_MARK, sizeof(*record), __builtin_ia32_rdtsc());

	if (record == NULL)
		return;
	record->covers = covers;
	gsg_queue_put_end(&queue);
}

void gs_put_pause(bool begins)
{
	gsg_queue_pause(&queue, begins);
}

bool gs_put_not(enum gs_submit_reason reason)
{
	gs_submit_count_direct(reason);
	if (atomic_load_explicit(&gs_submit_started, memory_order_relaxed))
		await(false);
	return false;
}

bool gs_put_replays(void)
{
	return graphs;
}
