/* See snapshot.h: names of files, one snapshot at a time, the running process as the source. */
#include "shim/snap/snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/conf.h"
#include "shim/snap/file.h"
#include "shim/snap/path_out.h"
#include "shim/submit/graph.h"
#include "shim/watch/kept.h"

static struct gsb_lock snapshot_lock = GSB_LOCK_INIT(SNAPSHOT);
static struct gs_snapshot_process process; /* guarded by snapshot_lock after gs_snapshot_init */
static unsigned request_count;             /* of snapshots named by a running number */
static char buffer[GS_SNAPSHOT_BUFFER_BYTES];

static const struct {
	const char *text;
	const char *suffix; /* NULL: a running number */
} reasons[] = {
#define REASON(name, text, suffix) {text, suffix},
	GS_SNAPSHOT_REASONS(REASON)
#undef REASON
};

const struct gs_snapshot_source gs_snapshot_real_source = {
	.conf = &gs_conf,
	.device_count = gs_device_count,
	.device_read = gs_device_read,
	.allocator_stats = gsa_stats_read,
	.allocator_walk = gsa_walk,
	.live_walk = gs_live_walk,
	.live_total = gs_live_total,
	.live_dropped = gs_live_dropped,
	.ring_begin = gs_ring_begin,
	.ring_end = gs_ring_end,
	.ring_added = gs_ring_added,
	.ring_read = gs_ring_read,
	.wait_count = gs_wait_count,
	.wait_read = gs_wait_read,
	.crossing_count = gs_crossing_count,
	.crossing_read = gs_crossing_read,
	.kernel_count = gs_kernel_count,
	.kernel_read = gs_kernel_read,
	.loop_count = gs_loop_count,
	.loop_read = gs_loop_read,
	.step_read = gs_step_read,
	.stack_count = gs_stack_count,
	.frame_count = gs_frame_count,
	.string_count = gs_string_count,
	.module_count = gs_module_count,
	.stack_read = gs_stack_read,
	.frame_read = gs_frame_read,
	.string_read = gs_string_read,
	.module_read = gs_module_read,
	.stack_counters = gs_stack_counters_read,
	.launch_read = gs_launch_read,
	.error_read = gs_sticky_read,
	.put_off = gs_submit_puts,
	.made_at_once = gs_submit_directs,
	.flushes = gs_submit_flushes,
	.graph_stats = gs_graph_stats,
	.counter_count = gs_counter_count,
	.counter_read = gs_counter_read,
	.process_read = gs_snapshot_process_read,
	.threads_read = gs_snapshot_threads_read,
};

void gs_snapshot_init(void)
{
	gs_snapshot_process_start(&process);
}

/* snapshot_dir, taken from the folder in which the process began, and the name up to the suffix. The folder is made if only
 * it is missing: a run that took hours is not to end without its snapshot. Whoever opens the file says what is wrong. */
static void path_begin(struct gsb_text *path)
{
	int saved_errno = errno;

	if (gs_conf.snapshot_dir[0] != '/' && process.folder[0] != '\0')
		gsb_text_add(path, "%s%s", process.folder, strcmp(process.folder, "/") == 0 ? "" : "/");
	if (gs_conf.snapshot_dir[0] != '\0' && !(gs_conf.snapshot_dir[0] == '.' && gs_conf.snapshot_dir[1] == '\0'))
		gsb_text_add(path, "%s/", gs_conf.snapshot_dir);
	if (path->length != 0 && !path->cut)
		mkdir(path->start, 0777);
	errno = saved_errno;
	gsb_text_add(path, "gpushim.%d", getpid());
	if (process.rank >= 0)
		gsb_text_add(path, ".rank%lld", (long long)process.rank);
}

static void make_path(struct gsb_text *path, enum gs_snapshot_reason reason)
{
	path_begin(path);
	if (reasons[reason].suffix != NULL)
		gsb_text_add(path, "%s.json", reasons[reason].suffix);
	else
		gsb_text_add(path, ".%u.json", ++request_count);
}

int gs_snapshot_write(enum gs_snapshot_reason reason, char *ret_path, size_t capacity)
{
	static char path_chars[GS_SNAPSHOT_PATH_BYTES];
	struct gsb_text path;
	int error, cancel = gsb_os_cancel_hold();

	gsb_lock_acquire(&snapshot_lock);
	gsb_text_init(&path, path_chars, sizeof(path_chars));
	make_path(&path, reason);
	error = gs_snapshot_file_write(path.start, reasons[reason].text, &process, &gs_snapshot_real_source, buffer);
	if (ret_path != NULL) {
		struct gsb_text copy;

		gsb_text_init(&copy, ret_path, capacity);
		gsb_text_add(&copy, "%s", path.start);
	}
	gsb_lock_release(&snapshot_lock);
	gsb_os_cancel_restore(cancel);
	return error;
}

struct gs_ring_slot *gs_snapshot_keep(size_t event_slots)
{
	const struct gs_paths paths = {(enum gs_conf_paths)gs_conf.paths, process.folder};
	char chars[GS_SNAPSHOT_PATH_BYTES];
	struct gsb_text path;

	gsb_text_init(&path, chars, sizeof(chars));
	path_begin(&path);
	gsb_text_add(&path, ".ring");
	gs_snapshot_process_read(&process);
	return gs_kept_start(chars, event_slots, &process, &paths);
}

void gs_snapshot_reset_locks(void)
{
	gsb_lock_reset(&snapshot_lock);
}
