/* See trigger.h. The page is a static one of ours until shared memory is mapped over it: its address is a constant, and
 * it works, unshared, where there is no shared memory. */
#include "shim/snap/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/live.h"
#include "shim/api/call.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/core/conf.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/snap/snapshot.h"
#include "shim/snap/status.h"
#include "shim/watch/live.h"

#define NS_PER_S 1000000000ull
#define TICKS_PER_S_LEAST 1000000000ull /* no processor that runs CUDA counts more slowly */
#define NEVER UINT64_MAX
#define DESCRIPTOR_LEAST 200
#define PEAK_SHARE 256u /* a new peak is higher by this share */
#define PEAK_PAUSE 20u	/* times the time that writing the last one took */

union gs_trigger_page gs_trigger_page __attribute__((aligned(GSB_PAGE_BYTES))) = {
	.page = {.magic = GS_LIVE_MAGIC, .version = GS_LIVE_VERSION, .due_ticks = NEVER}};

static uint64_t start_ns;      /* CLOCK_MONOTONIC */
static uint64_t start_ticks;
static _Atomic uint64_t next_ns; /* of the snapshot every N seconds; NEVER */
static _Atomic uint64_t status_ns = NEVER; /* of the line every N seconds */

static struct gs_live_page *page(void)
{
	return &gs_trigger_page.page;
}

/* --- the page ---------------------------------------------------------------------------------------------------- */

/* Room first: a page of a full file system would raise SIGBUS when it is touched (H27). */
static bool page_map(int fd)
{
	struct gs_live_page initial = *page();

	if (posix_fallocate(fd, 0, sizeof(gs_trigger_page)) != 0 ||
	    pwrite(fd, &initial, sizeof(initial), 0) != (ssize_t)sizeof(initial))
		return false;
	return mmap(&gs_trigger_page, sizeof(gs_trigger_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
	       MAP_FAILED;
}

/* The descriptor is not used again: a program may close it, and then nobody finds the page any more. It lies high, where
 * programs do not look for numbers. */
static void page_share(void)
{
	struct gsb_os_held_signals held;
	int fd, high, saved_errno = errno;

	gsb_os_write_signals_hold(&held);
	fd = memfd_create(GS_LIVE_NAME, MFD_CLOEXEC);
	high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_LEAST);
	if (high < 0 || !page_map(high)) {
		gsb_log(GSB_LOG_INFO, "no shared page: gpushim-report live and snapshot cannot reach this process");
		if (high >= 0)
			close(high);
	}
	if (fd >= 0)
		close(fd);
	gsb_os_write_signals_restore(&held);
	errno = saved_errno;
}

/* --- the signal -------------------------------------------------------------------------------------------------- */

/* The child of a fork has the handler and the page too, but had it not been for us, no handler: what the signal does by
 * default it does once this one has returned. */
static void on_signal(int number)
{
	if (page()->pid != (uint32_t)getpid()) {
		int saved_errno = errno;

		signal(number, SIG_DFL);
		raise(number);
		errno = saved_errno;
		return;
	}
	atomic_fetch_or(&page()->wanted, GS_LIVE_SIGNAL);
	atomic_store(&page()->due_ticks, 0);
}

static void signal_take(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, before;

	if (sigaction(SIGUSR2, NULL, &before) != 0)
		return;
	if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL)
		sigaction(SIGUSR2, &action, NULL);
	else
		gsb_log(GSB_LOG_WARN, "snapshot:signal has no effect: the program handles SIGUSR2 itself");
}

/* --- time -------------------------------------------------------------------------------------------------------- */

/* The ticks at which the next of both is near, by what both clocks did so far; too early rather than too late, since whoever
 * looks too early sets it anew. */
static void time_arm(uint64_t now_ns, uint64_t now_ticks)
{
	uint64_t snapshot_ns = atomic_load(&next_ns), line_ns = atomic_load(&status_ns);
	uint64_t wait_ns = snapshot_ns < line_ns ? snapshot_ns : line_ns, per_s = TICKS_PER_S_LEAST, early = NEVER;
	uint64_t passed_ns = now_ns - start_ns;

	if (wait_ns == NEVER)
		return;
	wait_ns = wait_ns > now_ns ? wait_ns - now_ns : 0;
	if (passed_ns > NS_PER_S / 100)
		per_s = (uint64_t)((double)(now_ticks - start_ticks) * (double)NS_PER_S / (double)passed_ns);
	/* Only where nobody asked meanwhile. */
	atomic_compare_exchange_strong(&page()->due_ticks, &early,
				       now_ticks + (uint64_t)((double)wait_ns * (double)per_s / (double)NS_PER_S));
}

static bool time_has_come(_Atomic uint64_t *when_ns, uint64_t every_s, uint64_t now_ns)
{
	uint64_t next = atomic_load(when_ns);

	return now_ns >= next && atomic_compare_exchange_strong(when_ns, &next, now_ns + every_s * NS_PER_S);
}

/* --- the peak ---------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t peak_written_bytes; /* alive in the last snapshot of it, on the device that had most */
static _Atomic uint64_t peak_next_ns;	    /* none before */

static struct gsa_gauge alive(int ordinal)
{
	struct gs_live_total tensors = gs_live_total(GS_LIVE_TENSOR, (uint8_t)ordinal);
	struct gs_device *device = gs_device_used(ordinal);
	struct gsa_stats stats;

	if (tensors.total_count != 0 || device == NULL)
		return (struct gsa_gauge){.now = tensors.bytes, .peak = tensors.peak_bytes};
	gsa_stats_read(device->allocator, &stats);
	return stats.allocated_bytes;
}

void gs_trigger_grown(int ordinal)
{
	uint64_t written = atomic_load_explicit(&peak_written_bytes, memory_order_relaxed);
	struct gsa_gauge bytes = alive(ordinal);

	if (bytes.now <= written + written / PEAK_SHARE || bytes.now < bytes.peak - bytes.peak / PEAK_SHARE ||
	    gsb_os_now_coarse_ns() < atomic_load_explicit(&peak_next_ns, memory_order_relaxed))
		return;
	atomic_fetch_or(&page()->wanted, GS_LIVE_PEAK);
	atomic_store(&page()->due_ticks, 0);
}

static void peak_write(uint64_t now_ns)
{
	uint64_t most = 0;

	for (int ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		uint64_t bytes = alive(ordinal).now;

		most = bytes > most ? bytes : most;
	}
	if (most <= atomic_load(&peak_written_bytes))
		return;
	atomic_store(&peak_written_bytes, most);
	gs_snapshot_write(GS_SNAPSHOT_AT_PEAK, NULL, 0);
	atomic_store(&peak_next_ns, now_ns + PEAK_PAUSE * (gsb_os_now_ns() - now_ns));
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static void purge(uint32_t rows)
{
	for (unsigned row = 0; row < GS_LIVE_DEVICES_MAX; row++) {
		struct gs_device *device = rows >> row & 1 ? gs_device_used(page()->used[row].ordinal) : NULL;

		if (device != NULL)
			gs_device_trim(device, false);
	}
}

static void figures_write(uint64_t now_ns)
{
	struct gs_live_page *to = page();

	to->elapsed_ns = now_ns - start_ns;
	to->launches = to->waits = to->wait_ns = 0;
	for (size_t i = 0; i < gs_counter_count(); i++) {
		enum gs_call_class call_class = gs_fn_info[i].call_class;
		struct gs_counter counter;

		if (!gs_fn_is_driver((enum gs_fn)i))
			continue;
		if (call_class == GS_CLASS_LAUNCH || call_class == GS_CLASS_GRAPH_LAUNCH) {
			gs_counter_read(i, &counter);
			to->launches += counter.calls;
		} else if (call_class == GS_CLASS_SYNC) {
			gs_counter_read(i, &counter);
			to->waits += counter.calls;
			to->wait_ns += counter.host_ns;
		}
	}
	to->device_count = 0;
	for (int index = 0; index < gs_device_count() && to->device_count < GS_LIVE_DEVICES_MAX; index++) {
		struct gs_device_info device;
		struct gsa_stats stats;

		if (gs_device_read(index, &device) != GS_OK || device.allocator == NULL)
			continue;
		gsa_stats_read(device.allocator, &stats);
		to->devices[to->device_count++] = (struct gs_live_device){
			.ordinal = device.ordinal,
			.allocated_bytes = stats.allocated_bytes.now,
			.reserved_bytes = stats.reserved_bytes.now,
			.reserved_peak_bytes = stats.reserved_bytes.peak,
			.idle_bytes = stats.idle_bytes.now + stats.pending_bytes.now,
		};
	}
}

void gs_trigger_fire(uint64_t ticks)
{
	uint64_t due = atomic_load(&page()->due_ticks), now_ns;
	uint32_t wanted;

	if (ticks < due || page()->pid != (uint32_t)getpid() ||
	    !atomic_compare_exchange_strong(&page()->due_ticks, &due, NEVER))
		return;
	wanted = atomic_exchange(&page()->wanted, 0);
	for (int index = 0; index < gs_device_count(); index++)
		if (gs_device_used(index) != NULL)
			gs_device_look(gs_device_used(index));
	now_ns = gsb_os_now_ns();
	if (wanted & GS_LIVE_SIGNAL)
		gs_snapshot_write(GS_SNAPSHOT_AT_SIGNAL, NULL, 0);
	if (wanted & GS_LIVE_PEAK)
		peak_write(now_ns);
	if (time_has_come(&status_ns, gs_conf.status, now_ns))
		gs_status_print(now_ns - start_ns);
	if (time_has_come(&next_ns, gs_conf.snapshot_every_s, now_ns))
		gs_snapshot_write(GS_SNAPSHOT_AT_TIME, NULL, 0);
	if (wanted & GS_LIVE_SNAPSHOT)
		page()->snapshot_error = gs_snapshot_write(GS_SNAPSHOT_AT_REQUEST, page()->snapshot_path,
							   sizeof(page()->snapshot_path));
	if ((wanted & GS_LIVE_PURGE) && !gs_order_capturing() && !gs_order_broken())
		purge(atomic_exchange(&page()->purge, 0));
	if (wanted & (GS_LIVE_SNAPSHOT | GS_LIVE_FIGURES | GS_LIVE_PURGE)) {
		figures_write(now_ns);
		atomic_fetch_add(&page()->answers, 1);
	}
	time_arm(gsb_os_now_ns(), gs_ticks());
}

void gs_trigger_device_used(int ordinal, const unsigned char uuid[16])
{
	uint32_t row = atomic_load(&page()->used_count);

	if (row == GS_LIVE_DEVICES_MAX)
		return;
	memcpy(page()->used[row].uuid, uuid, sizeof(page()->used[row].uuid));
	page()->used[row].ordinal = ordinal;
	atomic_store(&page()->used_count, row + 1);
}

void gs_trigger_init(void)
{
	start_ns = gsb_os_now_ns();
	start_ticks = gs_ticks();
	page()->pid = (uint32_t)getpid();
	atomic_store(&next_ns,
		     gs_conf.snapshot_every_s == 0 ? NEVER : start_ns + gs_conf.snapshot_every_s * NS_PER_S);
	if (gs_conf.status != 0)
		atomic_store(&status_ns, start_ns + gs_conf.status * NS_PER_S);
	page_share();
	if (gs_conf.snapshot & GS_SNAPSHOT_SIGNAL)
		signal_take();
	time_arm(start_ns, start_ticks);
}
