/* The submission queue: the order of records, their content, flushes, sleeping and waking, and when it asks for none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "graph/queue.h"
#include "shim/base/err.h"
#include "shim/base/fence.h"
#include "shim/base/os.h"

enum { THREADS = 4, RECORDS = 20000, RING_BYTES = 512 << 10, LARGEST = 32768 };

#define LONG_NS 10000000000u
#define ALL UINT32_MAX

struct piece {
	struct gsg_record head;
	uint32_t thread, number, bytes;
	unsigned char content[];
};

static struct gsg_queue *queue; /* one a test: its thread lives on */
static uint32_t next_number[THREADS];
static unsigned wrong;
static uint32_t put_count; /* by run_of */
static _Atomic uint32_t ran;
static _Atomic uint32_t open_to; /* records from this number on have to wait; 0: all of them */
static _Atomic unsigned naps; /* that each record takes, */
static uint32_t nap_each;     /* or one in so many */

/* Records are held until there are so many of them; 0: they are not. */
static uint32_t hold_until;
static const struct gsg_record *held[64];
static uint64_t held_from;
static uint32_t held_count;
static _Atomic uint32_t settled[2]; /* by reason */

static unsigned char content_of(uint32_t thread, uint32_t number, uint32_t at)
{
	return (unsigned char)(thread * 31 + number * 7 + at);
}

static void check(const struct gsg_record *record)
{
	const struct piece *piece = (const struct piece *)record;

	while (piece->number >= atomic_load(&open_to))
		gsb_os_nap();
	for (unsigned i = 0; i < atomic_load(&naps) && piece->number % nap_each == 0; i++)
		gsb_os_nap();
	wrong += record->kind != 1 + piece->thread || piece->number != next_number[piece->thread]++;
	for (uint32_t i = 0; i < piece->bytes; i++)
		wrong += piece->content[i] != content_of(piece->thread, piece->number, i);
	atomic_fetch_add(&ran, 1);
}

static void check_held(void)
{
	for (uint32_t i = 0; i < held_count; i++)
		check(held[i]);
	held_count = 0;
}

static uint64_t run(void *user, const struct gsg_record *record, uint64_t position)
{
	assert_ptr_equal(user, next_number);
	if (held_count == 0)
		held_from = position;
	held[held_count++] = record;
	if (held_count < hold_until)
		return held_from;
	check_held();
	return GSG_NONE_HELD;
}

static void settle(void *user, enum gsg_settle_reason reason)
{
	assert_ptr_equal(user, next_number);
	settled[reason]++;
	check_held();
}

static bool put(uint32_t thread, uint32_t number, uint32_t bytes)
{
	struct piece *piece =
		(struct piece *)gsg_queue_put_begin(queue, 1 + thread, sizeof(*piece) + bytes, __builtin_ia32_rdtsc());

	if (piece == NULL)
		return false;
	piece->thread = thread;
	piece->number = number;
	piece->bytes = bytes;
	for (uint32_t i = 0; i < bytes; i++)
		piece->content[i] = content_of(thread, number, i);
	gsg_queue_put_end(queue);
	return true;
}

static bool put_of(uint32_t number, size_t size_bytes)
{
	return put(0, number, (uint32_t)(size_bytes - sizeof(struct piece)));
}

static int start_with(uint64_t spin_ns, uint64_t late_ticks, uint64_t hold_ns)
{
	static struct gsg_queue queues[24];
	static unsigned used;
	const struct gsg_queue_options options = {
		.ring_bytes = RING_BYTES, .spin_ns = spin_ns, .pause_ticks = spin_ns, .late_ticks = late_ticks, .settle = settle, .hold_ns = hold_ns,
		.patience = 4, .patience_work = ALL};

	queue = &queues[used++];
	memset(next_number, 0, sizeof(next_number));
	wrong = 0;
	put_count = 0;
	atomic_store(&ran, 0);
	atomic_store(&open_to, ALL);
	atomic_store(&naps, 0);
	nap_each = 1;
	hold_until = 0;
	settled[0] = settled[1] = 0;
	return gsg_queue_start(queue, run, next_number, &options) == GS_OK ? 0 : -1;
}

static int start(void **state)
{
	(void)state;
	return start_with(20000, 0, LONG_NS);
}

/* No pause is a long one. */
static int start_patient(void **state)
{
	(void)state;
	return start_with(LONG_NS, 0, LONG_NS);
}

/* Nobody is quick enough. */
static int start_hasty(void **state)
{
	(void)state;
	return start_with(20000, 1, LONG_NS);
}

/* Nothing is held for long. */
static int start_brief(void **state)
{
	(void)state;
	return start_with(20000, 0, 1);
}

static uint32_t size_of(uint32_t number)
{
	return number % 251 == 0 ? LARGEST : number % 97;
}

static void *put_many(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument;

	for (uint32_t i = 0; i < RECORDS; i++) {
		assert_true(put(thread, i, size_of(i)));
		if (i % 1000 == 999)
			gsg_queue_flush(queue);
	}
	return NULL;
}

/* Each thread's records in its order, whole, none lost and none twice; the ring is wound round many times. */
static void test_order(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), THREADS * RECORDS);
	assert_int_equal(wrong, 0);
	assert_true(gsg_queue_empty(queue));
	assert_int_equal(queue->stats.records, THREADS * RECORDS);
	assert_int_equal(settled[GSG_SETTLE_WANTED] + settled[GSG_SETTLE_LATE], 0); /* nothing was ever held */
}

/* A flush returns when what was put before it has run, whether the thread is awake or parked. */
static void test_flush(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		if (i % 50 == 49)
			while (atomic_load(&queue->parked) == 0)
				gsb_os_nap();
		assert_true(put(0, i, 0));
		gsg_queue_flush(queue);
		assert_int_equal(atomic_load(&ran), i + 1);
	}
	assert_true(queue->stats.wakes >= 4);
	assert_int_equal(wrong, 0);
}

static void *put_until_full(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 64; i++)
		assert_true(put(0, i, LARGEST));
	return NULL;
}

/* Who puts into a full ring waits for room, and goes on when there is some. */
static void test_full(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&open_to, 0);
	assert_int_equal(pthread_create(&thread, NULL, put_until_full, NULL), 0);
	while (queue->stats.full == 0)
		gsb_os_nap();
	assert_int_equal(atomic_load(&ran), 0);
	atomic_store(&open_to, ALL);
	pthread_join(thread, NULL);
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), 64);
	assert_int_equal(wrong, 0);
}

static long sleeps_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Who waits for many records, or for room, sleeps until there is much, and is not woken for each record: that would cost the thread more
 * than most records do. */
static void test_sleep(void **state)
{
	long sleeps = sleeps_so_far();

	(void)state;
	atomic_store(&open_to, 0);
	for (uint32_t i = 0; i < 400; i++)
		assert_true(put(0, i, 0));
	atomic_store(&naps, 1);
	atomic_store(&open_to, ALL);
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), 400);
	assert_in_range(sleeps_so_far() - sleeps, 0, 100);
	for (uint32_t i = 400; i < 2400; i++)
		assert_true(put(0, i, 1000));
	assert_true(queue->stats.full > 0);
	gsg_queue_flush(queue);
	assert_in_range(sleeps_so_far() - sleeps, 0, 200);
}

static void *flush(void *unused)
{
	gsg_queue_flush(queue);
	return unused;
}

static void await_sleeper(void)
{
	for (unsigned i = 0; atomic_load(&queue->wake_head) == UINT64_MAX; i++) {
		assert_true(i < 100000);
		gsb_os_nap();
	}
}

/* Of two who sleep, the one whose records have run goes on, and the other one is woken later. */
static void test_sleep_both(void **state)
{
	pthread_t one, other;

	(void)state;
	atomic_store(&open_to, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(put(0, i, 0));
	assert_int_equal(pthread_create(&one, NULL, flush, NULL), 0);
	await_sleeper();
	for (uint32_t i = 2; i < 4; i++)
		assert_true(put(0, i, 0));
	assert_int_equal(pthread_create(&other, NULL, flush, NULL), 0);
	usleep(20000); /* it sleeps, too, by then */
	atomic_store(&open_to, 2);
	pthread_join(one, NULL);
	assert_int_equal(atomic_load(&ran), 2);
	await_sleeper();
	atomic_store(&open_to, ALL);
	pthread_join(other, NULL);
	assert_int_equal(atomic_load(&ran), 4);
	assert_int_equal(wrong, 0);
}

/* A program that flushes after each piece of work is left alone: nothing of it is put. One that does not is served. */
static void test_wants(void **state)
{
	unsigned wanted = 0;

	(void)state;
	assert_true(put(0, 0, 0));
	gsg_queue_flush(queue);
	for (unsigned i = 0; i < 1000; i++) {
		wanted += gsg_queue_wants(queue, __builtin_ia32_rdtsc());
		gsg_queue_flush(queue);
	}
	assert_int_equal(wanted, 0);
	for (unsigned i = 0; !gsg_queue_wants(queue, __builtin_ia32_rdtsc()); i++)
		assert_true(i < 1000000);
	assert_true(put(0, 1, 0));
	gsg_queue_flush(queue);
	for (unsigned i = 2; gsg_queue_wants(queue, __builtin_ia32_rdtsc()); i++) {
		assert_true(i < 1000);
		assert_true(put(0, i, 0));
		gsg_queue_flush(queue);
	}
	assert_true(queue->stats.rests > 0);
	assert_int_equal(wrong, 0);
}

/* So many pieces of work and a flush; what was put has run before the flush if the program has other work meanwhile. Returns how many
 * were put. */
static unsigned run_of(unsigned length, uint32_t bytes, bool other_work)
{
	unsigned count = 0;

	for (unsigned i = 0; i < length; i++)
		if (gsg_queue_wants(queue, __builtin_ia32_rdtsc())) {
			assert_true(put(0, put_count++, bytes));
			count++;
		}
	while (other_work && atomic_load(&ran) < put_count)
		gsb_os_nap();
	gsg_queue_flush(queue);
	return count;
}

/* Where the program only waits for the thread, the queue rests, and tries again later; where it does other work, never. */
static void test_vain(void **state)
{
	unsigned runs = 0;

	(void)state;
	atomic_store(&naps, 1);
	assert_true(put(0, put_count++, 0));
	gsg_queue_flush(queue);
	for (unsigned i = 0; i < 50; i++)
		run_of(20, 0, true);
	assert_true(run_of(20, 0, true) > 0);
	assert_int_equal(queue->stats.rests, 0);
	while (queue->stats.rests == 0) {
		assert_true(runs++ < 2000);
		run_of(20, 0, false);
	}
	assert_int_equal(run_of(20, 0, false), 0);
	for (runs = 1; run_of(20, 0, false) == 0; runs++)
		assert_true(runs < 100);
	assert_int_equal(wrong, 0);
}

/* To wait for room is to wait for the thread: most of this run is spent so, little in the flush. */
static void test_vain_full(void **state)
{
	(void)state;
	atomic_store(&naps, 4);
	assert_true(put(0, put_count++, 0));
	gsg_queue_flush(queue);
	for (unsigned runs = 0; queue->stats.rests == 0; runs++) {
		assert_true(runs < 300);
		run_of(4 * RING_BYTES / LARGEST, LARGEST, false);
	}
	assert_true(queue->stats.full > 0);
	assert_int_equal(wrong, 0);
}

/* Long runs are not tried as often as short ones. */
static void test_vain_long(void **state)
{
	unsigned runs = 0;

	(void)state;
	queue->options.patience_work = 400;
	atomic_store(&naps, 1);
	assert_true(put(0, put_count++, 0));
	gsg_queue_flush(queue);
	for (; queue->stats.rests == 0; runs++) {
		assert_true(runs < 3);
		run_of(300, 0, false);
	}
	assert_int_equal(run_of(300, 0, false), 0);
	assert_int_equal(wrong, 0);
}

/* What a record takes is the mean of all kinds in a loop, and not the time of the one that comes first. */
static void test_alone(void **state)
{
	(void)state;
	nap_each = 16;
	atomic_store(&naps, 1);
	for (uint32_t i = 0; i < 2000; i++)
		assert_true(put(0, i, 0));
	gsg_queue_flush(queue);
	assert_in_range(queue->alone_ns, 1, 15000); /* a nap takes 20000 and more */
}

/* A thread that comes late again and again is left alone for some runs, then asked again, and left alone for longer the next
 * time (H19). */
static void test_starved(void **state)
{
	unsigned passed[3] = {0};

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_true(put(0, put_count++, 0));
	gsg_queue_flush(queue);
	for (unsigned i = 0; i < 10000; i++)
		assert_false(gsg_queue_wants(queue, __builtin_ia32_rdtsc()));
	assert_int_equal(atomic_load(&ran), 100);
	for (unsigned time = 0; time < 3; time++)
		while (run_of(200, 0, false) == 0)
			assert_true(++passed[time] < 100);
	assert_in_range(passed[0], 4, 8);
	assert_in_range(passed[1], 12, 16);
	assert_in_range(passed[2], 28, 32);
	assert_int_equal(wrong, 0);
}

static void test_close(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		assert_true(put(0, i, 0));
	gsg_queue_close(queue);
	assert_int_equal(atomic_load(&ran), 10);
	assert_false(put(0, 10, 0));
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), 10);
}

/* Who flushes does not wait for records that would make up more; what is held is run for whoever needs room. */
static void test_hold(void **state)
{
	pthread_t thread;

	(void)state;
	hold_until = 10;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(put(0, i, 0));
		if (i % 7 == 6)
			gsg_queue_flush(queue);
	}
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), 1000);
	assert_int_equal(settled[GSG_SETTLE_WANTED], 143);
	assert_int_equal(settled[GSG_SETTLE_LATE], 0);
	next_number[0] = 0;
	hold_until = 60;
	assert_int_equal(pthread_create(&thread, NULL, put_until_full, NULL), 0);
	pthread_join(thread, NULL);
	assert_true(settled[GSG_SETTLE_WANTED] > 143);
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), 1064);
	assert_int_equal(wrong, 0);
}

/* Nobody waits and nothing follows: what is held is run all the same. */
static void test_hold_late(void **state)
{
	(void)state;
	hold_until = 10;
	for (uint32_t i = 0; i < 5; i++)
		assert_true(put(0, i, 0));
	while (atomic_load(&ran) != 5)
		gsb_os_nap();
	assert_true(settled[GSG_SETTLE_LATE] >= 1);
	assert_true(gsg_queue_empty(queue));
	assert_int_equal(wrong, 0);
}

/* The record knows whether its thread has waited for the queue since its last one. */
static void test_first(void **state)
{
	(void)state;
	hold_until = 10;
	gsg_queue_flush(queue);
	for (uint32_t i = 0; i < 9; i++)
		assert_true(put(0, i, 0));
	gsg_queue_flush(queue);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(held[i]->first, i == 0);
}

static void *put_beyond_the_end(void *number)
{
	assert_true(put_of((uint32_t)(uintptr_t)number, 2048));
	return NULL;
}

/* The ring is full to the last byte, and the next record does not fit before its end: the rest of it is the oldest
 * record's, too. */
static void test_full_before_the_end(void **state)
{
	size_t ring_bytes = queue->options.ring_bytes, put_bytes = 0;
	uint32_t number = 0;
	pthread_t thread;

	(void)state;
	for (; put_bytes + 4096 <= ring_bytes - 1024; put_bytes += 4096)
		assert_true(put_of(number++, 4096));
	assert_true(put_of(number++, ring_bytes - 1024 - put_bytes));
	gsg_queue_flush(queue);
	atomic_store(&open_to, 0);
	assert_true(put_of(number++, 512));
	assert_true(put_of(number++, 512));
	for (put_bytes = 1024; put_bytes + 4096 <= ring_bytes; put_bytes += 4096)
		assert_true(put_of(number++, 4096));
	assert_true(put_of(number++, ring_bytes - put_bytes));
	assert_int_equal(queue->stats.full, 0);
	assert_int_equal(pthread_create(&thread, NULL, put_beyond_the_end, (void *)(uintptr_t)number++), 0);
	while (queue->stats.full == 0)
		gsb_os_nap();
	atomic_store(&open_to, ALL);
	pthread_join(thread, NULL);
	gsg_queue_flush(queue);
	assert_int_equal(atomic_load(&ran), number);
	assert_int_equal(wrong, 0);
}

static _Atomic bool begun;

/* Takes its time between begin and end. */
static void *put_slowly(void *argument)
{
	struct piece *piece = (struct piece *)gsg_queue_put_begin(queue, 1, sizeof(*piece), __builtin_ia32_rdtsc());

	atomic_store(&begun, true);
	usleep(20000);
	piece->thread = piece->number = piece->bytes = 0;
	gsg_queue_put_end(queue);
	return argument;
}

/* What somebody is about to put when the queue is closed runs, too. */
static void test_close_waits(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, put_slowly, NULL), 0);
	while (!atomic_load(&begun))
		sched_yield();
	gsg_queue_close(queue);
	assert_int_equal(atomic_load(&ran), 1);
	pthread_join(thread, NULL);
}

/* Once the barrier is the thread's. */
static void test_order_lopsided(void **state)
{
	gsb_fence_start();
	test_order(state);
}

static void test_full_lopsided(void **state)
{
	gsb_fence_start();
	test_full(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, start),   cmocka_unit_test_setup(test_flush, start),
		cmocka_unit_test_setup(test_sleep, start),   cmocka_unit_test_setup(test_sleep_both, start),
		cmocka_unit_test_setup(test_full, start),    cmocka_unit_test_setup(test_wants, start_patient),
		cmocka_unit_test_setup(test_vain, start_patient), cmocka_unit_test_setup(test_vain_full, start_patient),
		cmocka_unit_test_setup(test_vain_long, start_patient), cmocka_unit_test_setup(test_alone, start),
		cmocka_unit_test_setup(test_starved, start_hasty), cmocka_unit_test_setup(test_close, start),
		cmocka_unit_test_setup(test_full_before_the_end, start),
		cmocka_unit_test_setup(test_close_waits, start),
		cmocka_unit_test_setup(test_hold, start),    cmocka_unit_test_setup(test_hold_late, start_brief),
		cmocka_unit_test_setup(test_first, start),
		cmocka_unit_test_setup(test_order_lopsided, start),
		cmocka_unit_test_setup(test_full_lopsided, start),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph queue", tests, NULL, NULL);
}
