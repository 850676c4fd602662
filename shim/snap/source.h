/* Where a snapshot takes its figures from: the readers of the other rooms, gathered so that tests can stand in for
 * them. None of these calls the driver. Each function is documented in the header named beside it. */
#ifndef GS_SNAP_SOURCE_H
#define GS_SNAP_SOURCE_H

#include "allocator/gsa.h"
#include "shim/core/conf.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/snap/process.h"
#include "shim/stack/stack.h"
#include "shim/submit/count.h"
#include "shim/watch/crossing.h"
#include "shim/watch/launch.h"
#include "shim/watch/kernel.h"
#include "shim/watch/live.h"
#include "shim/watch/ring.h"
#include "shim/watch/step.h"
#include "shim/watch/sticky.h"
#include "shim/watch/wait.h"

struct gsg_replay_stats;

struct gs_snapshot_source {
	const struct gs_conf *conf;

	/* shim/core/device.h */
	int (*device_count)(void);
	int (*device_read)(int index, struct gs_device_info *ret_info);

	/* allocator/gsa.h */
	void (*allocator_stats)(struct gsa *allocator, struct gsa_stats *ret_stats);
	void (*allocator_walk)(struct gsa *allocator, const struct gsa_visitor *visitor);

	/* shim/watch/live.h, shim/watch/ring.h */
	void (*live_walk)(void (*visit)(void *user, const struct gs_live *entry), void *user);
	struct gs_live_total (*live_total)(enum gs_live_class live_class, uint8_t device);
	uint64_t (*live_dropped)(void);
	uint64_t (*ring_begin)(void);
	uint64_t (*ring_end)(void);
	uint64_t (*ring_added)(uint64_t end);
	int (*ring_read)(uint64_t index, struct gs_event *ret_event);

	/* shim/watch/wait.h */
	size_t (*wait_count)(void);
	void (*wait_read)(size_t index, struct gs_wait *ret_wait);

	/* shim/watch/kernel.h */
	size_t (*kernel_count)(void);
	void (*kernel_read)(size_t index, struct gs_kernel *ret_kernel);

	/* shim/watch/step.h */
	size_t (*loop_count)(void);
	void (*loop_read)(size_t index, struct gs_loop *ret_loop);
	size_t (*step_read)(struct gs_step *steps, size_t capacity);

	/* shim/watch/crossing.h */
	size_t (*crossing_count)(void);
	void (*crossing_read)(size_t index, struct gs_crossing *ret_crossing);

	/* shim/stack/stack.h */
	size_t (*stack_count)(void);
	size_t (*frame_count)(void);
	size_t (*string_count)(void);
	size_t (*module_count)(void);
	void (*stack_read)(uint32_t stack, uint32_t *ret_parent, uint32_t *ret_frame);
	void (*frame_read)(uint32_t frame, struct gs_frame *ret_frame);
	const char *(*string_read)(uint32_t string);
	void (*module_read)(uint32_t module, struct gs_module *ret_module);
	void (*stack_counters)(struct gs_stack_counters *ret_counters);

	/* shim/watch/launch.h, shim/watch/sticky.h */
	size_t (*launch_read)(struct gs_launch *launches, size_t capacity, uint64_t *ret_lost);
	bool (*error_read)(struct gs_sticky_error *ret_error);

	/* shim/submit/count.h, shim/submit/graph.h */
	uint64_t (*put_off)(enum gs_submit_kind kind);
	uint64_t (*made_at_once)(enum gs_submit_reason reason);
	size_t (*flushes)(struct gs_submit_flush *ret_flushes, size_t limit, uint64_t *ret_count, uint64_t *ret_ns);
	const struct gsg_replay_stats *(*graph_stats)(void);

	/* shim/core/counter.h */
	size_t (*counter_count)(void);
	void (*counter_read)(size_t index, struct gs_counter *ret_counter);

	/* shim/snap/process.h */
	void (*process_read)(struct gs_snapshot_process *process);
	size_t (*threads_read)(struct gs_snapshot_thread *threads, size_t capacity);
};

/* The running process. */
extern const struct gs_snapshot_source gs_snapshot_real_source;

#endif
