/* See launch.h. An entry is four words; the ring's end is published after them. A reader copies an entry and looks
 * afterwards whether the writer may have come round to it meanwhile. */
#include "shim/watch/launch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/hot.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/core/params.h"
#include "shim/core/stream.h"
#include "shim/stack/key.h"
#include "shim/stack/stack.h"
#include "shim/watch/causal.h"
#include "shim/watch/gap.h"
#include "shim/watch/hazard.h"
#include "shim/watch/kernel.h"
#include "shim/watch/note.h"
#include "shim/watch/sample.h"
#include "shim/watch/serial.h"
#include "shim/watch/step.h"

#define SITES 2048u
#define STREAMS 8u
#define ENTRY_WORDS 4u
#define ENTRIES_AHEAD 4u /* which no cache has any more */

/* The word that says who and how. */
#define THREAD_MASK 0x3fffffu /* thread ids stay below 2^22 */
#define KIND_SHIFT 22
#define BLOCKING 0x10000000u
#define CAPTURED 0x20000000u
#define REFUSED 0x40000000u

/* Words: ticks; stream id; name << 32 | stack; context << 32 | who and how. */
struct entry {
	_Atomic uint64_t words[ENTRY_WORDS];
};

/* A kernel at a place of the program. */
struct site {
	uint64_t key; /* 0 = free */
	uint32_t name;
	uint32_t stack;
	struct gs_kernel_row *row; /* NULL: no room */
	const struct site *next;   /* what followed it last; the caches are told of it. NULL: nothing yet */
	struct gs_finder_mark mark;
};

struct known_stream {
	CUstream handle;
	uint64_t changes; /* of contexts and streams, when it was found out */
	struct gs_work_stream stream;
};

struct gs_launch_log {
	uint64_t capacity;	  /* a power of two; fixed */
	_Atomic uint64_t end;	  /* entries ever written */
	struct site *newest_site; /* NULL: none yet */
	uint64_t newest_key;	  /* of the launch before, and waits of the thread by then */
	uint64_t newest_waits;
	uint32_t thread;	  /* its owner, by kernel thread id, */
	uint32_t serial;	  /* and by gs_thread_serial: whose streams are known */
	uint16_t site_count;
	struct known_stream streams[STREAMS];
	struct gs_finder finder;
	uint16_t places[SITES];	      /* of sites, by key: numbers; 0: there is none */
	struct site sites[SITES + 1]; /* used one after the other: the few that a program has lie side by side */
	struct gs_hazard_work work;
	struct entry entries[];
};

GSB_HOT static uint64_t log_capacity; /* fixed at init, as is the next */
GSB_HOT static bool launches_block;   /* CUDA_LAUNCH_BLOCKING: a launch returns when it is done, with its own error */
GSB_HOT static _Atomic uint64_t code_changes = 1;

void gs_launch_init(uint64_t capacity)
{
	const char *value = getenv("CUDA_LAUNCH_BLOCKING");

	if (capacity == 0)
		return;
	launches_block = value != NULL && value[0] != '\0' && value[0] != '0';
	log_capacity = 1;
	while (log_capacity < capacity)
		log_capacity *= 2;
}

bool gs_launch_logs(void)
{
	return log_capacity != 0;
}

bool gs_launch_blocks(void)
{
	return launches_block;
}

void gs_launch_code_gone(void)
{
	atomic_fetch_add_explicit(&code_changes, 1, memory_order_relaxed);
	gs_params_forget();
}

/* The log of a thread that is gone, if its counters' block has one, else a new one. NULL: there are no pages. */
static struct gs_launch_log *log_take(struct gs_launch_log *log)
{
	if (gs_thread.counters == NULL)
		gs_counter_block_take();
	if (gs_thread.counters == NULL)
		return NULL;
	if (log == NULL)
		log = gs_thread.counters->launches;
	if (log == NULL) {
		log = gsb_os_pages_map(sizeof(*log) + log_capacity * sizeof(log->entries[0]));
		if (log == NULL)
			return NULL;
		log->capacity = log_capacity;
		atomic_store_explicit(&gs_thread.counters->launches, log, memory_order_release);
	}
	memset(log->streams, 0, sizeof(log->streams));
	log->thread = gs_thread_id();
	log->serial = gs_thread_serial();
	return log;
}

/* The calling thread's. */
static inline struct gs_launch_log *log_of_thread(void)
{
	struct gs_launch_log *log = gs_thread.counters != NULL ? gs_thread.counters->launches : NULL;

	if (__builtin_expect(log == NULL || log->serial != gs_thread_serial(), 0))
		return log_capacity != 0 ? log_take(log) : NULL;
	return log;
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

/* Both only grow. */
static uint64_t stream_changes(void)
{
	return gs_context_changes() + gs_stream_endings();
}

/* A default stream is that of the current context: it need not be asked for as long as there is only one. */
static bool stream_stays(CUstream handle)
{
	struct gs_context only;

	return (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) || gs_context_list(&only, 1) == 1;
}

/* handle is not NULL. */
static void stream_find(struct gs_launch_log *log, CUstream handle, struct gs_work_stream *ret_stream)
{
	struct known_stream *known = &log->streams[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 12) % STREAMS];
	uint64_t changes = stream_changes();

	if (__builtin_expect(known->handle == handle && known->changes == changes && !gs_order_capturing(), 1)) {
		*ret_stream = known->stream;
		return;
	}
	gs_work_stream_find(handle, false, ret_stream);
	if (ret_stream->captured)
		return;
	if (ret_stream->blocking)
		gs_sample_blocking_stream();
	known->handle = stream_stays(handle) ? handle : NULL;
	known->changes = changes;
	known->stream = *ret_stream;
}

static CUstream named(const struct gs_call *call, CUstream handle)
{
	if (handle != NULL)
		return handle;
	return gs_fn_info[call->fn].per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

struct gs_hazard_work *gs_launch_work(void)
{
	struct gs_launch_log *log = log_of_thread();

	return log != NULL ? &log->work : NULL;
}

bool gs_launch_stream(const struct gs_call *call, CUstream handle, struct gs_work_stream *ret_stream)
{
	struct gs_launch_log *log = log_of_thread();

	if (log == NULL)
		return false;
	stream_find(log, named(call, handle), ret_stream);
	return true;
}

static inline void submitted(const struct gs_call *call, const struct gs_work_stream *stream, uint64_t ticks)
{
	if (stream->captured)
		return;
	gs_proven_submitted(stream, ticks);
	gs_gap_work(stream->context, call->start_ticks != 0 ? call->start_ticks : ticks);
}

/* Its place is known if it is one where waits are likely. */
static void submitted_unnoted(const struct gs_call *call, const struct gs_work_stream *stream, uint64_t ticks)
{
	uint32_t name = gs_string_intern(gs_fn_info[call->fn].symbol);
	uint32_t stack = gs_fn_info[call->fn].call_class == GS_CLASS_COPY ? call->wait.stack
			 : gs_hazards						  ? gs_note_stack(call)
										  : 0;

	submitted(call, stream, ticks);
	gs_serial_submitted(stream, name, stack, ticks);
	if (gs_hazards)
		gs_hazard_submitted(stream, name, stack, ticks);
}

void gs_launch_submitted(const struct gs_call *call, CUstream handle, CUresult result)
{
	struct gs_work_stream stream;

	if (result == CUDA_SUCCESS && gs_launch_stream(call, handle, &stream))
		submitted_unnoted(call, &stream, gs_ticks());
}

void gs_launch_stream_done(const struct gs_work_stream *stream, uint64_t before)
{
	gs_proven_stream(stream->id, before);
	if (gs_hazards && !stream->captured)
		gs_causal_stream_done(stream, before);
}

void gs_launch_copied(const struct gs_call *call)
{
	uint64_t before = call->start_ticks;
	struct gs_work_stream stream;

	if (before == 0 || !gs_launch_stream(call, NULL, &stream))
		return;
	if (gs_fn_info[call->fn].per_thread)
		gs_proven_stream(stream.id, before);
	else
		gs_proven_legacy(&stream, before);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static uint32_t kernel_name(const void *function)
{
	const char *name = NULL;
	char chars[40];
	struct gsb_text text;

	if (gs_driver.cuFuncGetName != NULL &&
	    gs_driver.cuFuncGetName(&name, (CUfunction)(uintptr_t)function) != CUDA_SUCCESS)
		name = NULL;
	if (name == NULL && gs_driver.cuKernelGetName != NULL &&
	    gs_driver.cuKernelGetName(&name, (CUkernel)(uintptr_t)function) != CUDA_SUCCESS)
		name = NULL;
	if (name != NULL && name[0] != '\0')
		return gs_string_intern(name);
	gsb_text_init(&text, chars, sizeof(chars));
	gsb_text_add(&text, "kernel 0x%llx", (unsigned long long)(uintptr_t)function);
	return gs_string_intern(chars);
}

static struct site *site_find(struct gs_launch_log *log, const struct gs_call *call, enum gs_work_kind kind,
				    const void *function)
{
	const void *caller = gs_thread.caller != NULL ? gs_thread.caller : call->caller;
	uint64_t key = gs_stack_key(caller, &key);
	struct site *site;
	uint16_t *place;

	key = (key ^ (uint64_t)(uintptr_t)function * 0xff51afd7ed558ccdu) +
	      atomic_load_explicit(&code_changes, memory_order_relaxed) * 0xc4ceb9fe1a85ec53u + call->fn;
	key = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
	place = &log->places[key >> 53];
	site = &log->sites[*place];
	if (__builtin_expect(site->key == key, 1))
		return site;
	if (*place == 0)
		*place = ++log->site_count;
	site = &log->sites[*place];
	site->key = 0;
	site->name = function != NULL ? kernel_name(function) : gs_string_intern(gs_fn_info[call->fn].symbol);
	site->stack = gs_stack_capture(caller);
	site->row = gs_kernel_row(kind, site->name, site->stack);
	site->mark = (struct gs_finder_mark){0};
	site->key = key;
	return site;
}
_Static_assert(SITES == 1u << (64 - 53), "a key has its place by its highest bits");

/* --- steps ------------------------------------------------------------------------------------------------------- */

/* A kernel launched from one place again and again is one launch to the finder, unless the host waits in between. */
static inline void step_look(struct gs_launch_log *log, struct site *site, uint64_t begin_ticks, uint64_t taken)
{
	uint64_t waits = atomic_load_explicit(&gs_counter_block_own()->figures[GS_FIGURE_WAITS], memory_order_relaxed);

	if ((log->newest_key != site->key || log->newest_waits != waits) &&
	    !atomic_load_explicit(&gs_steps_marked, memory_order_relaxed)) {
		enum gs_found found = gs_finder_see(&log->finder, &site->mark, site->key);

		log->newest_key = site->key;
		log->newest_waits = waits;
		if (__builtin_expect(found != GS_FOUND_NOTHING, 0))
			gs_step_found(found, site->name, site->stack, site->mark.anchor, begin_ticks);
	}
	gs_figure_add(GS_FIGURE_LAUNCHES, 1);
	gs_figure_add(GS_FIGURE_LAUNCH, taken);
	if (site->row != NULL)
		gs_figure_add(GS_FIGURE_DEVICE, atomic_load_explicit(&site->row->mean_ns, memory_order_relaxed));
}

/* --- the log ----------------------------------------------------------------------------------------------------- */

void gs_launch_note(struct gs_call *call, enum gs_work_kind kind, const void *function, CUstream handle, CUresult result)
{
	struct gs_launch_log *log;
	uint64_t ticks, taken, end;
	uint32_t how = (uint32_t)kind << KIND_SHIFT;
	struct gs_work_stream stream;
	struct gs_sample_pair *pair = NULL;
	struct site *site;
	struct entry *entry;

	if (call->start_ticks == 0 && log_capacity == 0)
		return;
	ticks = gs_ticks();
	if (call->start_ticks != 0)
		call->end_ticks = ticks;
	log = result == CUDA_SUCCESS || (launches_block && gs_order_breaks(result)) ? log_of_thread() : NULL;
	if (__builtin_expect(gs_thread.sample != NULL, 0))
		pair = gs_sample_end(handle, gs_fn_info[call->fn].per_thread, result == CUDA_SUCCESS && log != NULL, ticks);
	if (log == NULL)
		return;
	if (__builtin_expect(result == CUDA_SUCCESS, 1)) {
		stream_find(log, named(call, handle), &stream);
		submitted(call, &stream, ticks);
	} else {
		stream = (struct gs_work_stream){.id = 0};
	}
	site = site_find(log, call, kind, function);
	if (__builtin_expect(pair != NULL, 0))
		gs_sample_of(pair, site->row);
	gs_serial_submitted(&stream, site->name, site->stack, ticks);
	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_submitted(&stream, site->name, site->stack, ticks);
	taken = call->start_ticks != 0 ? ticks - call->start_ticks : 0;
	if (kind <= GS_WORK_GRAPH && stream.id != 0)
		step_look(log, site, ticks - taken, taken);
	if (site->row != NULL)
		gs_kernel_add(site->row, taken);
	how |= (log->thread & THREAD_MASK) | (stream.blocking ? BLOCKING : 0) | (stream.captured ? CAPTURED : 0) |
	       (result != CUDA_SUCCESS ? REFUSED : 0);
	end = atomic_load_explicit(&log->end, memory_order_relaxed);
	entry = &log->entries[end & (log->capacity - 1)];
	/* Release, so that a reader who sees a new word also sees the end that was published before it. */
	atomic_store_explicit(&entry->words[0], ticks, memory_order_release);
	atomic_store_explicit(&entry->words[1], stream.id, memory_order_release);
	atomic_store_explicit(&entry->words[2], (uint64_t)site->name << 32 | site->stack, memory_order_release);
	atomic_store_explicit(&entry->words[3], (uint64_t)stream.context << 32 | how, memory_order_release);
	atomic_store_explicit(&log->end, end + 1, memory_order_release);
	__builtin_prefetch(&log->entries[(end + ENTRIES_AHEAD) & (log->capacity - 1)], 1);
	if (log->newest_site != NULL)
		log->newest_site->next = site;
	log->newest_site = site;
	__builtin_prefetch(site->next);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static enum gs_work_state state_of(const uint64_t words[ENTRY_WORDS])
{
	if (words[3] & REFUSED)
		return GS_WORK_REFUSED;
	if (words[3] & CAPTURED)
		return GS_WORK_CAPTURED;
	if (launches_block)
		return GS_WORK_DONE;
	return gs_proven_is(words[1], (uint32_t)(words[3] >> 32), (words[3] & BLOCKING) != 0, words[0]) ? GS_WORK_DONE
													 : GS_WORK_OPEN;
}

static bool entry_read(const struct gs_launch_log *log, uint64_t index, struct gs_launch *ret_launch)
{
	const struct entry *entry = &log->entries[index & (log->capacity - 1)];
	uint64_t words[ENTRY_WORDS];

	for (unsigned i = 0; i < ENTRY_WORDS; i++)
		words[i] = atomic_load_explicit(&entry->words[i], memory_order_acquire);
	if (atomic_load_explicit(&log->end, memory_order_relaxed) >= index + log->capacity)
		return false;
	*ret_launch = (struct gs_launch){
		.time_ns = gs_ticks_time_ns(words[0]),
		.stream = words[1],
		.name = (uint32_t)(words[2] >> 32),
		.stack = (uint32_t)words[2],
		.thread = (uint32_t)words[3] & THREAD_MASK,
		.kind = (uint8_t)(words[3] >> KIND_SHIFT & 15),
		.state = (uint8_t)state_of(words),
	};
	return true;
}

/* The oldest that is kept tells whether those before it were done. */
static uint64_t lost(const struct gs_launch_log *log, uint64_t begin)
{
	struct gs_launch oldest;

	if (begin == 0 || !entry_read(log, begin, &oldest) || oldest.state == GS_WORK_DONE)
		return 0;
	return begin;
}

size_t gs_launch_read(struct gs_launch *launches, size_t capacity, uint64_t *ret_lost)
{
	size_t count = 0;
	uint64_t lost_count = 0;

	for (const struct gs_counter_block *block = gs_counter_blocks(); block != NULL; block = block->next) {
		const struct gs_launch_log *log = atomic_load_explicit(&block->launches, memory_order_acquire);
		uint64_t end, begin;

		if (log == NULL)
			continue;
		end = atomic_load_explicit(&log->end, memory_order_acquire);
		/* One less than there is room for: the next one may be written just now. */
		begin = end >= log->capacity ? end - log->capacity + 1 : 0;
		lost_count += lost(log, begin);
		for (uint64_t index = begin; index < end; index++) {
			struct gs_launch launch;

			if (!entry_read(log, index, &launch))
				continue;
			if (count < capacity)
				launches[count] = launch;
			count++;
		}
	}
	if (ret_lost != NULL)
		*ret_lost = lost_count;
	return count;
}
