/* See order.h. */
#include "shim/core/order.h"

#include <stdatomic.h>

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/slab.h"
#include "shim/core/epoch.h"

/* Of 20 us and what the system adds to that. */
#define WAIT_NAPS 2000u

struct capture {
	CUstream stream;
	CUcontext context; /* that was current when it began */
	struct capture *next;
};

static struct gsb_lock capture_lock = GSB_LOCK_INIT(LIVE);
static struct gsb_slab capture_slab; /* guarded by capture_lock, as the list is */
static struct capture *captures;       /* see capture_list */
GSB_HOT static _Atomic unsigned capture_count; /* of the list; written under the lock */
static _Atomic bool capture_lost;      /* see gs_order_capture_lost */

/* Who enters counts itself before it looks for captures and holds; who captures or holds does so before it looks for
 * those inside. So one of them sees the other. */
static _Atomic unsigned inside_count;
static _Atomic unsigned wait_count;   /* inside gs_order_wait_enter */
static _Atomic unsigned memory_count; /* inside gs_order_memory_enter */
static _Atomic unsigned hold_count;

static _Atomic uint64_t to_host_noted, to_host_settled;
GSB_HOT static _Atomic bool blind;
GSB_HOT static _Atomic bool broken;
GSB_HOT _Atomic bool gs_order_blocking_seen;
GSB_HOT _Atomic bool gs_order_legacy_watched;
GSB_HOT static _Atomic uint64_t legacy_work = 1;

static struct capture **capture_list(void)
{
	gsb_debug_assert(gsb_lock_held(&capture_lock));
	return &captures;
}

static void await_zero(_Atomic unsigned *count)
{
	while (atomic_load(count) != 0)
		gsb_os_nap();
}

void gs_order_capture_begins(CUstream stream)
{
	struct capture *capture;
	CUcontext context = NULL;

	gs_driver.cuCtxGetCurrent(&context);
	gsb_lock_acquire(&capture_lock);
	if (capture_slab.node_bytes == 0)
		gsb_slab_init(&capture_slab, sizeof(*capture));
	capture = gsb_slab_take(&capture_slab);
	if (capture != NULL) {
		*capture = (struct capture){.stream = stream, .context = context, .next = *capture_list()};
		*capture_list() = capture;
		atomic_fetch_add(&capture_count, 1);
	}
	gsb_lock_release(&capture_lock);
	if (capture == NULL)
		gs_order_capture_lost("a stream capture");
	gs_epoch_end();
	await_zero(&inside_count);
	for (unsigned naps = 0; naps < WAIT_NAPS && atomic_load(&wait_count) != 0; naps++)
		gsb_os_nap();
}

void gs_order_capture_lost(const char *how)
{
	atomic_store(&capture_lost, true);
	gs_epoch_end();
	gsb_log_once(GSB_LOG_INFO, "%s cannot be followed: memory comes from the driver from now on", how);
}

static void capture_drop(struct capture **link)
{
	struct capture *capture = *link;

	*link = capture->next;
	gsb_slab_give(&capture_slab, capture);
	atomic_fetch_sub(&capture_count, 1);
	gs_epoch_end();
}

void gs_order_capture_ended(CUstream stream)
{
	struct capture **link;

	gsb_lock_acquire(&capture_lock);
	link = capture_list();
	while (*link != NULL && (*link)->stream != stream)
		link = &(*link)->next;
	if (*link != NULL)
		capture_drop(link);
	gsb_lock_release(&capture_lock);
}

/* Newer than the oldest header that we build with. */
#define ERROR_CONTAINED 226
#define ERROR_TENSOR_MEMORY_LEAK 721

bool gs_order_breaks(CUresult result)
{
	switch ((int)result) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case ERROR_CONTAINED:
	case ERROR_TENSOR_MEMORY_LEAK:
	case CUDA_ERROR_EXTERNAL_DEVICE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
		return true;
	default:
		return false;
	}
}

void gs_order_note_error(CUresult result)
{
	if (!gs_order_breaks(result))
		return;
	atomic_store(&broken, true);
	gs_epoch_end();
}

bool gs_order_broken(void)
{
	return atomic_load_explicit(&broken, memory_order_relaxed);
}

void gs_order_context_gone(CUcontext context)
{
	struct capture **link;

	atomic_store(&broken, false);
	gs_epoch_end();
	gsb_lock_acquire(&capture_lock);
	link = capture_list();
	while (*link != NULL) {
		if ((*link)->context == context)
			capture_drop(link);
		else
			link = &(*link)->next;
	}
	gsb_lock_release(&capture_lock);
}

void gs_order_stream_gone(CUstream stream)
{
	if (gs_order_capturing())
		gs_order_capture_ended(stream);
}

bool gs_order_capturing(void)
{
	return atomic_load(&capture_count) != 0 || atomic_load(&capture_lost);
}

bool gs_order_enter(int *ret_cancel)
{
	int cancel = gsb_os_cancel_hold();

	atomic_fetch_add(&inside_count, 1);
	if (gs_order_capturing() || atomic_load(&hold_count) != 0) {
		gs_order_leave(cancel);
		return false;
	}
	*ret_cancel = cancel;
	return true;
}

void gs_order_leave(int cancel)
{
	atomic_fetch_sub(&inside_count, 1);
	gsb_os_cancel_restore(cancel);
}

bool gs_order_wait_enter(void)
{
	atomic_fetch_add(&wait_count, 1);
	if (!gs_order_capturing())
		return true;
	gs_order_wait_leave();
	return false;
}

void gs_order_wait_leave(void)
{
	atomic_fetch_sub(&wait_count, 1);
}

int gs_order_hold(void)
{
	int cancel = gsb_os_cancel_hold();

	atomic_fetch_add(&hold_count, 1);
	await_zero(&inside_count);
	await_zero(&memory_count);
	return cancel;
}

int gs_order_memory_enter(void)
{
	int cancel = gsb_os_cancel_hold();

	for (;;) {
		atomic_fetch_add(&memory_count, 1);
		if (atomic_load(&hold_count) == 0)
			return cancel;
		atomic_fetch_sub(&memory_count, 1);
		await_zero(&hold_count);
	}
}

void gs_order_memory_leave(int cancel)
{
	atomic_fetch_sub(&memory_count, 1);
	gsb_os_cancel_restore(cancel);
}

void gs_order_let_go(int cancel)
{
	atomic_fetch_sub(&hold_count, 1);
	gsb_os_cancel_restore(cancel);
}

void gs_order_await(void)
{
	await_zero(&hold_count);
}

struct gs_order_relaxed gs_order_relaxed_begin(void)
{
	struct gs_order_relaxed saved = {.mode = CU_STREAM_CAPTURE_MODE_RELAXED, .cancel = gsb_os_cancel_hold()};

	saved.exchanged = gs_driver.cuThreadExchangeStreamCaptureMode != NULL &&
			  gs_driver.cuThreadExchangeStreamCaptureMode(&saved.mode) == CUDA_SUCCESS;
	return saved;
}

void gs_order_relaxed_end(struct gs_order_relaxed saved)
{
	if (saved.exchanged)
		gs_driver.cuThreadExchangeStreamCaptureMode(&saved.mode);
	gsb_os_cancel_restore(saved.cancel);
}

bool gs_order_stream_captures(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return gs_order_capturing() && gs_driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void gs_order_note_to_host(void)
{
	atomic_fetch_add_explicit(&to_host_noted, 1, memory_order_relaxed);
}

bool gs_order_to_host_pending(void)
{
	return atomic_load(&blind) || atomic_load(&to_host_noted) != atomic_load(&to_host_settled);
}

uint64_t gs_order_to_host_mark(void)
{
	return atomic_load(&to_host_noted);
}

void gs_order_to_host_settled(uint64_t mark)
{
	uint64_t before = atomic_load(&to_host_settled);

	while (before < mark && !atomic_compare_exchange_weak(&to_host_settled, &before, mark))
		;
}

bool gs_order_blind(void)
{
	return atomic_load_explicit(&blind, memory_order_relaxed);
}

void gs_order_lost_sight(const char *how)
{
	if (atomic_exchange(&blind, true))
		return;
	gs_order_note_blocking();
	gs_epoch_end();
	gsb_log(GSB_LOG_INFO, "%s: work can be submitted unseen, so cudaFree waits for the device", how);
}

/* The number grows before the mark goes: who does not find the mark finds the number. */
void gs_order_note_watched_legacy(void)
{
	atomic_fetch_add(&legacy_work, 1);
	atomic_store(&gs_order_legacy_watched, false);
}

uint64_t gs_order_legacy_watch(void)
{
	if (!atomic_load(&gs_order_legacy_watched))
		atomic_store(&gs_order_legacy_watched, true);
	return atomic_load(&legacy_work);
}

void gs_order_note_first_blocking(void)
{
	atomic_store(&gs_order_blocking_seen, true);
	gs_epoch_end();
}

void gs_order_reset_locks(void)
{
	gsb_lock_reset(&capture_lock);
	atomic_store(&inside_count, 0);
	atomic_store(&wait_count, 0);
	atomic_store(&memory_count, 0);
	atomic_store(&hold_count, 0);
}
