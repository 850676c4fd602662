/* See queue.h.
 *
 * The ring is a run of records, each contiguous: one that does not fit before the end is preceded by a filler. head and
 * tail count bytes for ever. The thread reads tail and writes head; those who put hold the lock, read head and write tail.
 * Between head and what the thread has read lies what is held back. */
#include "graph/queue.h"

#include <limits.h>
#include <string.h>

#include "graph/cost.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/fence.h"
#include "shim/base/futex.h"
#include "shim/base/os.h"
#include "shim/base/worker.h"

#define KIND_FILLER 0u
#define NOBODY UINT64_MAX /* sleeps until the head has come somewhere */
#define LOOKS 32u	     /* between two looks at the clock */
#define FLUSH_SPIN_NS 50000u /* then the one who waits sleeps */
#define SLEEP_NS 100000000u  /* at most, in case that a wake-up goes astray */
#define RUN_LEAST 4u	     /* so few pieces of work between two flushes gain nothing by the queue */
#define SHORT_RUNS 8u	     /* so often in a row, and nothing is put for a while */
#define WAKE_LEAST 4u
#define WAKE_MOST 4096u
#define PASS_LEAST 64u
#define PASS_MOST 4096u
#define PASS_STARVED 8u /* where the thread lacked a processor the first time */
#define ALONE_SAMPLE 17u /* one record in so many is timed: in turn all those of a loop, whose number is rarely a multiple of it */
#define ROOM_SHARE 8u /* of the ring is waited for when it is full */
#define FETCH_LINES 4u	/* of a record, as most are */
#define FETCH_BYTES 1024u
#define LATE_LEAST 64u	 /* deadlines missed that may be chance, */
#define LATE_ONCE 8u	 /* by one record at most: a pause of the machine is none of the thread's, */
#define LATE_SHARE 8u	 /* and one for so many records: where nobody waits for them, late ones cost nothing, */
#define LATE_AMONG 4096u /* of so many records at most */
#define CALM_LEAST 16u	 /* after so many times as many the thread is trusted as at first */

static _Thread_local bool is_queue_thread __attribute__((tls_model("initial-exec")));
static _Thread_local bool waited __attribute__((tls_model("initial-exec"))); /* for the queue, since it put something */

bool gsg_queue_is_own(void)
{
	return is_queue_thread;
}

static size_t offset_of(const struct gsg_queue *queue, uint64_t position)
{
	return position & (queue->options.ring_bytes - 1);
}

static struct gsg_record *record_at(const struct gsg_queue *queue, uint64_t position)
{
	return (struct gsg_record *)(queue->ring + offset_of(queue, position));
}

static bool is_behind(const struct gsg_queue *queue, uint64_t target)
{
	return atomic_load(&queue->head) < target;
}

/* Spins until *count is no longer `known`; false when that takes longer than spin_ns. */
static bool spin(const _Atomic uint64_t *count, uint64_t known, uint64_t spin_ns)
{
	uint64_t start_ns = gsb_os_now_ns();

	do {
		for (unsigned look = 0; look < LOOKS; look++) {
			if (atomic_load_explicit(count, memory_order_acquire) != known)
				return true;
			__builtin_ia32_pause();
		}
	} while (gsb_os_now_ns() - start_ns < spin_ns);
	return false;
}

/* How often the deadline passed while a record lay there, of the last records, at most LATE_AMONG; and how often so many were all
 * right before. */
struct lateness {
	uint64_t deadlines;
	unsigned records, calm;
};

/* --- the thread ---------------------------------------------------------------------------------------------------- */

/* Nobody is woken in vain but those who sleep for more than the one that the head has come to: they say again what for. */
static void advance(struct gsg_queue *queue, uint64_t head)
{
	atomic_store(&queue->head, head);
	if (__builtin_expect(atomic_load(&queue->wake_head) > head, 1))
		return;
	atomic_store(&queue->wake_head, NOBODY);
	atomic_fetch_add(&queue->ran, 1);
	gsb_futex_wake(&queue->ran, INT_MAX);
}

/* Who puts publishes the tail, then looks whether the thread is parked; the thread says that it is, then looks at the tail. */
static void park(struct gsg_queue *queue, uint64_t head)
{
	atomic_store(&queue->parked, 1);
	gsb_fence_heavy();
	while (atomic_load(&queue->parked) != 0 && atomic_load(&queue->tail) == head)
		gsb_futex_wait(&queue->parked, 1, SLEEP_NS);
	atomic_store(&queue->parked, 0);
}

/* free_ticks: when the thread had nothing else to do. */
static void note_lateness(struct gsg_queue *queue, const struct gsg_record *record, uint64_t free_ticks, struct lateness *late)
{
	uint64_t since = record->put_ticks > free_ticks ? record->put_ticks : free_ticks;
	int64_t lain, deadline = (int64_t)queue->options.late_ticks;

	if (++late->records > LATE_AMONG)
		*late = (struct lateness){.records = 1, .calm = late->calm + 1};
	lain = (int64_t)(__builtin_ia32_rdtsc() - since);
	if (deadline == 0 || lain <= deadline)
		return;
	atomic_fetch_add_explicit(&queue->stats.late, 1, memory_order_relaxed);
	late->deadlines += lain / deadline < LATE_ONCE ? (uint64_t)(lain / deadline) : LATE_ONCE;
	if (late->deadlines < LATE_LEAST || late->deadlines * LATE_SHARE <= late->records)
		return;
	if (late->calm >= CALM_LEAST)
		atomic_store_explicit(&queue->pass_starved, 0, memory_order_relaxed);
	*late = (struct lateness){0};
	atomic_store_explicit(&queue->starved, true, memory_order_release);
}

/* Waits a while for the next record, or for somebody who waits for those that are held. */
static bool await_more(const struct gsg_queue *queue, uint64_t head, uint64_t read)
{
	uint64_t start_ns = gsb_os_now_ns(), now_ns;

	do {
		for (unsigned look = 0; look < LOOKS; look++) {
			if (atomic_load_explicit(&queue->tail, memory_order_acquire) != read ||
			    atomic_load_explicit(&queue->wanted, memory_order_relaxed) > head)
				return true;
			__builtin_ia32_pause();
		}
		now_ns = gsb_os_now_ns();
		if (atomic_load_explicit(&queue->pauses, memory_order_relaxed) != 0)
			start_ns = now_ns;
	} while (now_ns - start_ns < queue->options.hold_ns);
	return false;
}

/* Something is held. Whether it has to be run now. */
static bool must_settle(const struct gsg_queue *queue, uint64_t head, uint64_t read, enum gsg_settle_reason *ret_reason)
{
	uint64_t wanted = atomic_load_explicit(&queue->wanted, memory_order_relaxed);

	*ret_reason = GSG_SETTLE_WANTED;
	if (wanted > head && wanted <= read)
		return true;
	*ret_reason = GSG_SETTLE_LATE;
	return atomic_load_explicit(&queue->tail, memory_order_acquire) == read && !await_more(queue, head, read);
}

/* The next record comes from another processor's cache: it is asked for in time, unless it is being written. */
static void fetch(const struct gsg_queue *queue, uint64_t position)
{
	const char *record = (const char *)record_at(queue, position);

	if (atomic_load_explicit(&queue->tail, memory_order_relaxed) - position < FETCH_BYTES)
		return;
	for (unsigned line = 0; line < FETCH_LINES; line++)
		__builtin_prefetch(record + 64 * line);
}

/* One that was neither held nor made together with others tells how long it takes. */
static uint64_t run_record(struct gsg_queue *queue, const struct gsg_record *record, uint64_t position, bool timed)
{
	uint64_t mean_ns = atomic_load_explicit(&queue->alone_ns, memory_order_relaxed);
	uint64_t start_ns = timed ? gsb_os_now_ns() : 0;
	uint64_t held = queue->run(queue->user, record, position);

	if (timed && held == GSG_NONE_HELD)
		atomic_store_explicit(&queue->alone_ns, gsg_cost_mean(mean_ns, gsb_os_now_ns() - start_ns),
				      memory_order_relaxed);
	return held;
}

static void *serve(void *argument)
{
	struct gsg_queue *queue = argument;
	uint64_t head = atomic_load(&queue->head), read = head, held = GSG_NONE_HELD, free_ticks = 0;
	struct lateness late = {0};
	uint32_t number = 0;

	is_queue_thread = true;
	for (;;) {
		enum gsg_settle_reason reason;
		const struct gsg_record *record;

		if (head != read && must_settle(queue, head, read, &reason)) {
			queue->options.settle(queue->user, reason);
			held = GSG_NONE_HELD;
			free_ticks = __builtin_ia32_rdtsc();
			advance(queue, head = read);
		}
		if (atomic_load_explicit(&queue->tail, memory_order_acquire) == read) {
			if (head == read && !spin(&queue->tail, read, queue->options.spin_ns))
				park(queue, read);
			continue;
		}
		record = record_at(queue, read);
		if (record->kind != KIND_FILLER) {
			fetch(queue, read + record->size_bytes);
			note_lateness(queue, record, free_ticks, &late);
			held = run_record(queue, record, read, head == read && number++ % ALONE_SAMPLE == 0);
			free_ticks = __builtin_ia32_rdtsc();
		}
		read += record->size_bytes;
		if (held == GSG_NONE_HELD || held != head)
			advance(queue, head = held == GSG_NONE_HELD ? read : held);
	}
	return NULL;
}

int gsg_queue_start(struct gsg_queue *queue, gsg_run_fn *run, void *user, const struct gsg_queue_options *options)
{
	gsb_assert((options->ring_bytes & (options->ring_bytes - 1)) == 0 &&
		   options->ring_bytes >= 4 * (size_t)GSG_RECORD_LIMIT);
	memset(queue, 0, sizeof(*queue));
	queue->run = run;
	queue->user = user;
	queue->options = *options;
	queue->wake_at = WAKE_LEAST;
	queue->wake_head = NOBODY;
	queue->resting = true;
	gsb_lock_init(&queue->lock, GSB_RANK_QUEUE);
	queue->ring = gsb_os_pages_map(options->ring_bytes);
	if (queue->ring == NULL)
		return GS_E_NO_HOST_MEMORY;
	if (gsb_worker_start(serve, queue) != GS_OK) {
		gsb_os_pages_unmap(queue->ring, options->ring_bytes);
		queue->ring = NULL;
		return GS_E_NO_HOST_MEMORY;
	}
	return GS_OK;
}

void gsg_queue_forget(struct gsg_queue *queue)
{
	atomic_store(&queue->head, atomic_load(&queue->tail));
	gsb_lock_reset(&queue->lock);
}

/* --- those who put ------------------------------------------------------------------------------------------------- */

static void wake(struct gsg_queue *queue)
{
	atomic_fetch_add_explicit(&queue->stats.wakes, 1, memory_order_relaxed);
	atomic_store(&queue->parked, 0);
	gsb_futex_wake(&queue->parked, 1);
}

static uint32_t peek(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void poke(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* After a pause. */
static bool is_late(const struct gsg_queue *queue, uint64_t now_ticks)
{
	int64_t pause_ticks = (int64_t)(now_ticks - atomic_load_explicit(&queue->run_ticks, memory_order_relaxed));

	return queue->options.pause_ticks != 0 && pause_ticks > (int64_t)queue->options.pause_ticks;
}

/* While resting, work is counted that comes without flushes and pauses. */
static bool wants_again(struct gsg_queue *queue, uint64_t now_ticks)
{
	if (is_late(queue, now_ticks))
		poke(&queue->run_length, 1);
	atomic_store_explicit(&queue->run_ticks, now_ticks, memory_order_relaxed);
	if (peek(&queue->run_length) < peek(&queue->wake_at))
		return false;
	atomic_store_explicit(&queue->resting, false, memory_order_relaxed);
	return true;
}

/* The next runs are done directly: twice as many as the last time, *last, and at least so many. */
static void pass_by(struct gsg_queue *queue, _Atomic uint32_t *last, uint32_t least)
{
	uint32_t pass = 2 * peek(last);

	pass = pass < least ? least : pass > PASS_MOST ? PASS_MOST : pass;
	poke(last, pass);
	poke(&queue->pass_runs, pass);
	atomic_fetch_add_explicit(&queue->stats.rests, 1, memory_order_relaxed);
}

bool gsg_queue_wants(struct gsg_queue *queue, uint64_t now_ticks)
{
	if (__builtin_expect(atomic_load_explicit(&queue->starved, memory_order_relaxed), 0) &&
	    atomic_exchange_explicit(&queue->starved, false, memory_order_acquire) && peek(&queue->pass_runs) == 0)
		pass_by(queue, &queue->pass_starved, PASS_STARVED);
	poke(&queue->run_length, peek(&queue->run_length) + 1);
	if (peek(&queue->pass_runs) != 0)
		return false;
	if (atomic_load_explicit(&queue->resting, memory_order_relaxed) && !queue->options.eager)
		return wants_again(queue, now_ticks);
	if (__builtin_expect(peek(&queue->parked) != 0 && gsg_queue_empty(queue) && !queue->options.eager, 0)) {
		poke(&queue->run_length, 0);
		atomic_store_explicit(&queue->resting, true, memory_order_relaxed);
		return wants_again(queue, now_ticks);
	}
	return true;
}

bool gsg_queue_rests(struct gsg_queue *queue, uint64_t now_ticks)
{
	uint32_t length = peek(&queue->run_length) + 1;

	if (queue->options.eager || peek(&queue->pass_runs) != 0 || !atomic_load_explicit(&queue->resting, memory_order_relaxed) ||
	    atomic_load_explicit(&queue->starved, memory_order_relaxed) || length >= peek(&queue->wake_at) ||
	    !gsg_queue_empty(queue))
		return false;
	if (is_late(queue, now_ticks))
		length = 1;
	atomic_store_explicit(&queue->run_ticks, now_ticks, memory_order_relaxed);
	poke(&queue->run_length, length);
	waited = true;
	return true;
}

/* So that what is held back is run. */
static void want(struct gsg_queue *queue, uint64_t target)
{
	uint64_t wanted = atomic_load(&queue->wanted);

	while (wanted < target && !atomic_compare_exchange_weak(&queue->wanted, &wanted, target))
		continue;
}

static void note_wait(struct gsg_queue *queue, uint64_t start_ns)
{
	atomic_fetch_add_explicit(&queue->run_wait_ns, gsb_os_now_ns() - start_ns, memory_order_relaxed);
}

/* Whoever is about to sleep is woken when the head comes to the target, or before. */
static void ask_to_be_woken(struct gsg_queue *queue, uint64_t target)
{
	uint64_t wake_head = atomic_load(&queue->wake_head);

	while (target < wake_head && !atomic_compare_exchange_weak(&queue->wake_head, &wake_head, target))
		continue;
}

/* Sleeps until the thread has come that far. What is asked for may be forgotten when others are woken, which changes `ran` then:
 * it is read first. */
static void sleep_until(struct gsg_queue *queue, uint64_t target)
{
	for (;;) {
		uint32_t ran = atomic_load(&queue->ran);

		ask_to_be_woken(queue, target);
		if (!is_behind(queue, target))
			break;
		gsb_futex_wait(&queue->ran, ran, SLEEP_NS);
	}
}

/* For more than it takes, so that who puts into a full ring does not sleep before each record. */
static void wait_for_room(struct gsg_queue *queue, uint64_t end)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	uint64_t target = end - queue->options.ring_bytes, start_ns;

	if (end <= queue->options.ring_bytes || target <= queue->head_seen)
		return;
	queue->head_seen = atomic_load(&queue->head);
	if (target <= queue->head_seen)
		return;
	atomic_fetch_add_explicit(&queue->stats.full, 1, memory_order_relaxed);
	target += queue->options.ring_bytes / ROOM_SHARE;
	target = target < tail ? target : tail;
	want(queue, target);
	start_ns = gsb_os_now_ns();
	sleep_until(queue, target);
	note_wait(queue, start_ns);
}

static void publish(struct gsg_queue *queue, uint64_t tail)
{
	atomic_store_explicit(&queue->tail, tail, memory_order_release);
	gsb_fence_light();
	if (__builtin_expect(peek(&queue->parked) != 0, 0))
		wake(queue);
}

struct gsg_record *gsg_queue_put_begin(struct gsg_queue *queue, uint16_t kind, size_t size_bytes, uint64_t now_ticks)
{
	struct gsg_record *record;
	uint64_t tail;
	size_t left_bytes;

	size_bytes = (size_bytes + GSG_RECORD_ALIGN - 1) & ~(size_t)(GSG_RECORD_ALIGN - 1);
	gsb_assert(kind != KIND_FILLER && size_bytes <= GSG_RECORD_LIMIT);
	gsb_lock_acquire(&queue->lock);
	if (queue->closed) {
		gsb_lock_release(&queue->lock);
		return NULL;
	}
	tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	left_bytes = queue->options.ring_bytes - offset_of(queue, tail);
	if (left_bytes < size_bytes) {
		wait_for_room(queue, tail + left_bytes);
		*record_at(queue, tail) = (struct gsg_record){.size_bytes = (uint32_t)left_bytes, .kind = KIND_FILLER};
		tail += left_bytes;
		publish(queue, tail);
	}
	wait_for_room(queue, tail + size_bytes);
	record = record_at(queue, tail);
	*record = (struct gsg_record){
		.size_bytes = (uint32_t)size_bytes, .kind = kind, .first = waited, .put_ticks = now_ticks};
	waited = false;
	queue->put_bytes = size_bytes;
	return record;
}

void gsg_queue_put_end(struct gsg_queue *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed) + queue->put_bytes;

	atomic_store_explicit(&queue->stats.records,
			      atomic_load_explicit(&queue->stats.records, memory_order_relaxed) + 1, memory_order_relaxed);
	publish(queue, tail);
	gsb_lock_release(&queue->lock);
	for (unsigned line = 0; line < FETCH_LINES; line++)
		__builtin_prefetch((char *)record_at(queue, tail) + line * 64, 1);
}

void gsg_queue_pause(struct gsg_queue *queue, bool begins)
{
	if (begins)
		atomic_fetch_add(&queue->pauses, 1);
	else
		atomic_fetch_sub(&queue->pauses, 1);
}

/* --- those who flush ----------------------------------------------------------------------------------------------- */

static void wait_until(struct gsg_queue *queue, uint64_t target)
{
	uint64_t start_ns = gsb_os_now_ns();

	want(queue, target);
	while (is_behind(queue, target) && gsb_os_now_ns() - start_ns < FLUSH_SPIN_NS)
		for (unsigned look = 0; look < LOOKS && is_behind(queue, target); look++)
			__builtin_ia32_pause();
	if (is_behind(queue, target))
		sleep_until(queue, target);
	atomic_fetch_add_explicit(&queue->stats.flush_wait_ns, gsb_os_now_ns() - start_ns, memory_order_relaxed);
	note_wait(queue, start_ns);
}

/* A run is in vain where the program waited for most of the time that its work takes. */
static void judge_gain(struct gsg_queue *queue, uint32_t length, uint64_t waited_ns)
{
	uint64_t alone_ns = atomic_load_explicit(&queue->alone_ns, memory_order_relaxed);
	bool gained = queue->options.patience == 0 || 4 * waited_ns <= 3 * alone_ns * length || alone_ns == 0;
	uint32_t runs = gained ? 0 : peek(&queue->vain_runs) + 1, work = gained ? 0 : peek(&queue->vain_work) + length;
	bool ends = !gained && (runs >= queue->options.patience || work >= queue->options.patience_work);

	poke(&queue->vain_runs, ends ? 0 : runs);
	poke(&queue->vain_work, ends ? 0 : work);
	if (ends)
		pass_by(queue, &queue->pass_next, PASS_LEAST);
}

/* Too many short runs, and the queue rests until a long one; the more often, the longer. */
static void judge_run(struct gsg_queue *queue)
{
	uint32_t length = peek(&queue->run_length), wake_at = peek(&queue->wake_at), pass = peek(&queue->pass_runs);
	uint64_t waited_ns = atomic_exchange_explicit(&queue->run_wait_ns, 0, memory_order_relaxed);

	poke(&queue->run_length, 0);
	if (pass != 0 && length >= RUN_LEAST)
		poke(&queue->pass_runs, pass - 1);
	if (length == 0 || pass != 0 || atomic_load_explicit(&queue->resting, memory_order_relaxed))
		return;
	if (length >= RUN_LEAST) {
		judge_gain(queue, length, waited_ns);
		poke(&queue->short_runs, 0);
		if (length >= 2 * wake_at && wake_at > WAKE_LEAST)
			poke(&queue->wake_at, wake_at / 2);
		return;
	}
	poke(&queue->short_runs, peek(&queue->short_runs) + 1);
	if (peek(&queue->short_runs) < SHORT_RUNS)
		return;
	poke(&queue->short_runs, 0);
	if (wake_at < WAKE_MOST)
		poke(&queue->wake_at, 2 * wake_at);
	atomic_store_explicit(&queue->resting, true, memory_order_relaxed);
	atomic_fetch_add_explicit(&queue->stats.rests, 1, memory_order_relaxed);
}

void gsg_queue_catch_up(struct gsg_queue *queue)
{
	uint64_t target = atomic_load_explicit(&queue->tail, memory_order_acquire);

	waited = true;
	if (is_queue_thread || !is_behind(queue, target))
		return;
	atomic_fetch_add_explicit(&queue->stats.flushes, 1, memory_order_relaxed);
	wait_until(queue, target);
}

bool gsg_queue_flush_resting(struct gsg_queue *queue)
{
	if (!atomic_load_explicit(&queue->resting, memory_order_relaxed) || peek(&queue->pass_runs) != 0 ||
	    atomic_load_explicit(&queue->run_wait_ns, memory_order_relaxed) != 0 || !gsg_queue_empty(queue))
		return false;
	poke(&queue->run_length, 0);
	waited = true;
	return true;
}

void gsg_queue_flush(struct gsg_queue *queue)
{
	if (is_queue_thread)
		return;
	gsg_queue_catch_up(queue);
	judge_run(queue);
}

void gsg_queue_close(struct gsg_queue *queue)
{
	gsb_lock_acquire(&queue->lock);
	queue->closed = true;
	gsb_lock_release(&queue->lock);
	gsg_queue_flush(queue);
}
