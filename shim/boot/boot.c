/* From load to exit: when the shim starts, and when it stops. See shim/core/mode.h for the states.
 *
 *   load    constructor: find libc's dlsym, register for exit and fork, torch:serve. Reads one environment variable.
 *   start   first CUDA call of the process: configuration, real functions, history, stacks.
 *   fork    the child of a process that used CUDA leaves everything alone for good: the driver does not work there
 *           either, and two processes must not write one file. The child of one that did not is as new (H33).
 *   exit    entries but those that free pass straight through from then on; the snapshot is written if there is something
 *           to tell. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/api/lookup.h"
#include "shim/api/quick.h"
#include "shim/api/runtime.h"
#include "shim/base/err.h"
#include "shim/base/escape.h"
#include "shim/base/fence.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/core/params.h"
#include "shim/ipc/ipc.h"
#include "shim/snap/snapshot.h"
#include "shim/snap/trigger.h"
#include "shim/stack/stack.h"
#include "shim/submit/submit.h"
#include "shim/torch/forward.h"
#include "shim/torch/torch.h"
#include "shim/watch/kept.h"
#include "shim/watch/hazard.h"
#include "shim/watch/launch.h"
#include "shim/watch/serial.h"
#include "shim/watch/live.h"
#include "shim/watch/place.h"
#include "shim/watch/ring.h"
#include "shim/watch/sample.h"
#include "shim/watch/step.h"
#include "shim/watch/wait.h"

#define LAST_STEP_NS 1000000000u /* to wait at most, where that may be in vain */

GSB_HOT _Atomic int gs_mode_now = GS_MODE_DORMANT;
GSB_HOT bool gs_call_timed;

static struct gsb_lock boot_lock = GSB_LOCK_INIT(BOOT);
static pid_t started_in; /* the process; a child that was made without fork() is told by its number alone */

static void mode_set(enum gs_mode mode)
{
	atomic_store_explicit(&gs_mode_now, mode, memory_order_release);
	gs_epoch_end();
}

static void history_start(void)
{
	size_t slots = gs_ring_slots(gs_conf.history);
	struct gs_ring_slot *kept = NULL;

	if ((gs_conf.snapshot & GS_SNAPSHOT_KILL) != 0 && gs_conf.history != 0)
		kept = gs_snapshot_keep(slots);
	if (kept != NULL) {
		gs_ring_init_at(kept, slots);
		gs_quick_stop(); /* at the door it is not known which of the blocks at an address was freed */
	} else if (gs_ring_init(gs_conf.history) != GS_OK) {
		gsb_log(GSB_LOG_WARN, "no memory for the history of %llu events; there will be none",
			(unsigned long long)gs_conf.history);
	}
}

/* Under the BOOT lock: nothing here needs the loader's lock or the driver. */
static void start(const struct gs_driver_found *found)
{
	started_in = getpid();
	gsb_fence_start();
	gs_driver_use(found);
	gs_conf_load();
	gs_call_timed = gs_conf.watch || gs_conf.snapshot_every_s != 0 || gs_conf.status != 0;
	gs_snapshot_init();
	gs_clock_init();
	gs_counter_init();
	gs_trigger_init();
	gs_stack_init(gs_conf.stacks);
	gs_launch_init(gs_conf.watch ? gs_conf.launches : 0);
	gs_sample_init(gs_launch_logs() && !gs_launch_blocks() ? gs_conf.device_time : 0);
	gs_hazard_init(gs_launch_logs() && gs_conf.hazards != GS_HAZARDS_OFF, gs_conf.hazards == GS_HAZARDS_SAMPLED);
	if (gs_conf.torch != GS_TORCH_OFF)
		gs_torch_forward_init();
	if (getenv("CUDA_INJECTION64_PATH") != NULL)
		gs_quick_stop();
	history_start();
	gs_submit_start();
	if (gs_conf.free_sync == GS_FREE_SYNC_ALWAYS) /* by whoever knows that work comes unseen */
		gs_order_note_blocking();
	mode_set(GS_MODE_ACTIVE);
}

bool gs_boot_ready(void)
{
	struct gs_driver_found found;
	int cancel;

	if (gs_mode() != GS_MODE_DORMANT)
		return gs_driver.cuInit != NULL;
	if (gs_thread.inside != 0)
		return false;
	gs_thread.inside = 1;
	cancel = gsb_os_cancel_hold();
	if (gs_driver_find(&found) == GS_OK) {
		gsb_lock_acquire(&boot_lock);
		if (gs_mode() == GS_MODE_DORMANT)
			start(&found);
		gsb_lock_release(&boot_lock);
	}
	gsb_os_cancel_restore(cancel);
	gs_thread.inside = 0;
	return gs_mode() != GS_MODE_DORMANT;
}

/* Whether the process did anything with a GPU that a snapshot could tell. */
static bool something_to_tell(void)
{
	for (size_t i = 0; i < gs_counter_count(); i++) {
		struct gs_counter counter;

		switch (gs_fn_info[i].call_class) {
		case GS_CLASS_ALLOC:
		case GS_CLASS_HOST_ALLOC:
		case GS_CLASS_VMM:
		case GS_CLASS_LAUNCH:
		case GS_CLASS_GRAPH_LAUNCH:
		case GS_CLASS_COPY:
		case GS_CLASS_COPY_ASYNC:
			gs_counter_read(i, &counter);
			if (counter.calls != 0)
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* A loop that is held up by launching, if that cost more than the wait (0: there is none). */
static bool say_launch_bound(const char *path, uint64_t elapsed_ns, uint64_t wait_ns)
{
	struct gs_loop loop;

	if (!gs_step_launch_bound(elapsed_ns, &loop) || loop.figures[GS_FIGURE_LAUNCH] <= wait_ns)
		return false;
	gsb_log_always("snapshot written; launching held the program up: %llu launches in a step of %llu us, of which the device works %llu; read more with: gpushim-report launch %s",
		       (unsigned long long)(loop.figures[GS_FIGURE_LAUNCHES] / loop.steps),
		       (unsigned long long)(loop.median_ns / 1000),
		       (unsigned long long)(loop.figures[GS_FIGURE_DEVICE] / loop.steps / 1000), path);
	return true;
}

/* One line: where the snapshot is, and what cost the host most if that is worth naming. */
static void say_goodbye(const char *path)
{
	uint64_t elapsed_ns = gsb_os_now_ns() - gs_clock_start_ns();
	struct gs_wait wait;
	struct gsb_text text;
	char line[512];

	if (!gs_wait_dearest(elapsed_ns, &wait))
		wait.host_ns = 0;
	if (say_launch_bound(path, elapsed_ns, wait.host_ns))
		return;
	if (wait.host_ns == 0) {
		gsb_log_always("snapshot written; read it with: gpushim-report summary %s", path);
		return;
	}
	gsb_text_init(&text, line, sizeof(line));
	gs_place_add(&text, wait.stack);
	gsb_log_always("snapshot written; the host waited most at %s: %llu ms of %llu, %llu times; read more with: gpushim-report sync %s",
		       line, (unsigned long long)(wait.host_ns / 1000000), (unsigned long long)(elapsed_ns / 1000000),
		       (unsigned long long)wait.calls, path);
}

/* What is made and submitted from now on is not seen, but memory of ours is freed. */
static void mode_end(void)
{
	gs_order_note_blocking();
	mode_set(GS_MODE_ENDED);
}

static void last_snapshot(void)
{
	static char path[GS_SNAPSHOT_PATH_BYTES];

	if ((gs_conf.snapshot & GS_SNAPSHOT_EXIT) != 0 && something_to_tell()) {
		if (gs_snapshot_write(GS_SNAPSHOT_AT_EXIT, path, sizeof(path)) != GS_OK)
			return;
		say_goodbye(path);
	}
	gs_kept_end();
}

/* A handler that interrupted a call may have ended the process: then the thread may hold what it waits for. */
static bool make_last_step(void (*step)(void))
{
	if (gs_thread.inside != 0)
		return gsb_escape_try(step, LAST_STEP_NS);
	step();
	return true;
}

static void at_exit(void)
{
	if (gs_mode() != GS_MODE_ACTIVE)
		return;
	if (getpid() != started_in) { /* made without fork(): the queue has no thread here, and the snapshot is the parent's */
		mode_end();
		return;
	}
	make_last_step(gs_submit_end);
	mode_end();
	if (make_last_step(last_snapshot))
		return;
	mode_set(GS_MODE_OFF);
	gsb_log(GSB_LOG_WARN, "no snapshot: a signal handler ended the program in the middle of a call");
}

static void after_fork_in_child(void)
{
	if (gs_mode() != GS_MODE_DORMANT)
		mode_set(GS_MODE_OFF);
	gs_thread_reset();
	gsb_lock_reset(&boot_lock);
	gs_runtime_reset_locks();
	gs_ipc_after_fork();
	gs_device_reset_locks();
	gs_order_reset_locks();
	gs_stack_reset_locks();
	gs_live_reset_locks();
	gs_kept_reset_locks();
	gs_proven_reset_locks();
	gs_serial_reset_locks();
	gs_hazard_reset_locks();
	gs_step_reset_locks();
	gs_snapshot_reset_locks();
	gs_params_reset_locks();
	gs_submit_after_fork();
}

__attribute__((constructor)) static void at_load(void)
{
	gsb_log_init();
	gs_lookup_init();
	atexit(at_exit);
	pthread_atfork(NULL, NULL, after_fork_in_child);
	if (gs_conf_peek_torch(getenv("GPUSHIM_ALLOC_CONF")) == GS_TORCH_SERVE)
		gs_torch_serve();
}
