/* See probe.h. */
#include "tests/stack/probe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/elf.h"
#include "shim/base/fault.h"
#include "shim/base/os.h"
#include "shim/core/counter.h"
#include "shim/stack/stack.h"
#include "shim/stack/unwind.h"
#include "shim/torch/forward.h"

#define DEPTH_MAX 1400
#define WALK_MAX 128

#define PROBE_EXPORT __attribute__((visibility("default")))

PROBE_EXPORT int probe_init(unsigned flags)
{
	if (gs_counter_blocks() == NULL)
		gs_counter_init();
	gs_stack_init(flags);
	return pthread_atfork(NULL, NULL, gs_stack_reset_locks);
}

static int frame_print(char *text, size_t capacity, const struct gs_frame *frame)
{
	struct gs_module module;

	if (frame->kind == GS_FRAME_PYTHON)
		return snprintf(text, capacity, "P %s|%s|%u\n", gs_string_read(frame->function),
				gs_string_read(frame->file), frame->line);
	gs_module_read(frame->file, &module);
	return snprintf(text, capacity, "N %s|%llx\n", gs_string_read(module.path), (unsigned long long)frame->offset);
}

static long stack_print(uint32_t stack, char *text, size_t capacity)
{
	uint32_t frames[DEPTH_MAX], parent;
	unsigned depth = 0;
	size_t length = 0;

	for (; stack != 0 && depth < DEPTH_MAX; stack = parent)
		gs_stack_read(stack, &parent, &frames[depth++]);
	text[0] = '\0';
	while (depth-- > 0) {
		struct gs_frame frame;

		gs_frame_read(frames[depth], &frame);
		length += (size_t)frame_print(text + length, capacity - length, &frame);
		if (length >= capacity)
			return -1;
	}
	return (long)length;
}

PROBE_EXPORT long probe_capture(char *text, size_t capacity, uintptr_t call_site)
{
	return stack_print(gs_stack_capture((const void *)call_site), text, capacity);
}

struct request {
	char *text;
	size_t capacity;
	long length;
};

static void *thread_main(void *argument)
{
	struct request *request = argument;

	request->length = probe_capture(request->text, request->capacity, 0);
	return NULL;
}

PROBE_EXPORT long probe_capture_in_thread(char *text, size_t capacity)
{
	struct request request = {text, capacity, -1};
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, &request) == 0)
		pthread_join(thread, NULL);
	return request.length;
}

/* Of one thread: by trail what its walk gave. */
struct walker {
	struct gs_unwind unwind;
	struct gs_trails trails;
	struct walk {
		size_t count;
		uint64_t addresses[WALK_MAX];
	} walks[GS_TRAILS];
};

static _Atomic unsigned trails_held;

PROBE_EXPORT size_t probe_walk(uint64_t *addresses, size_t capacity)
{
	static _Thread_local struct walker *walker;
	struct gs_trail *trail;
	struct gs_place place;
	struct gsb_elf own;
	struct walk *walk;
	bool holds;

	if (walker == NULL)
		walker = gsb_os_pages_map(sizeof(*walker));
	gsb_elf_at((const void *)probe_walk, &own);
	gs_unwind_begin(&walker->unwind);
	if (!gs_unwind_enter(&walker->unwind, own.start, own.end, &place))
		return 0;
	trail = gs_trail_of(&walker->trails, 0, &place);
	holds = gs_trail_holds(trail, 0, walker->unwind.generation, &place, walker->unwind.high);
	walk = &walker->walks[trail - walker->trails.each];
	if (holds) {
		struct walk again = {.count = gs_unwind_walk(&walker->unwind, &place, NULL, again.addresses, WALK_MAX)};

		if (again.count != walk->count ||
		    memcmp(again.addresses, walk->addresses, walk->count * sizeof(walk->addresses[0])) != 0)
			abort();
		trails_held++;
	} else {
		walk->count = gs_unwind_walk(&walker->unwind, &place, trail, walk->addresses, WALK_MAX);
		if (walk->count != 0)
			gs_trail_keep(trail, 0, 0);
	}
	memcpy(addresses, walk->addresses, (walk->count < capacity ? walk->count : capacity) * sizeof(*addresses));
	return walk->count;
}

PROBE_EXPORT unsigned probe_trails_held(void)
{
	return trails_held;
}

PROBE_EXPORT void probe_counters(char *text, size_t capacity)
{
	struct gs_stack_counters counters;

	gs_stack_counters_read(&counters);
	snprintf(text, capacity, "%llu %llu %llu|%s|%s", (unsigned long long)counters.captures,
		 (unsigned long long)counters.native_walks, (unsigned long long)counters.cut, counters.python,
		 counters.native);
}

PROBE_EXPORT void probe_fault(unsigned passes)
{
	gsb_fault_arm(GSB_FAULT_STACK, passes, 1);
}

PROBE_EXPORT unsigned probe_fault_fired(void)
{
	return gsb_fault_fired(GSB_FAULT_STACK);
}

PROBE_EXPORT void probe_forward(void)
{
	gs_torch_forward_init();
}

PROBE_EXPORT double probe_time(unsigned count)
{
	uint64_t start;

	gs_stack_capture(NULL);
	start = gsb_os_now_ns();
	for (unsigned at = 0; at < count; at++)
		gs_stack_capture(NULL);
	return (double)(gsb_os_now_ns() - start) / count;
}

PROBE_EXPORT void probe_call(void (*callback)(void *user), void *user)
{
	callback(user);
	__asm__ volatile(""); /* no tail call: the frame is the point */
}
