/* Threads whose order matters. argv[1]:
 *
 *   turns      each waits in every way there is, and says when it goes on. Prints the order.
 *   made-twice check, then act, and a driver call between: what shall be made once may be made twice. Ends with 3 then.
 *   no-lock    a list of free blocks whose lock is not taken: two threads may get the same one. Ends with 3 then.
 *   lock       the same with the lock.
 *   order      two locks that two threads take in different orders: may end in a deadlock.
 *   spin       one thread asks the driver until another one has set a flag. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/preload/kernel.h"

enum { THREADS = 4, ROUNDS = 6, BLOCKS = THREADS * 2 };

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static char said[THREADS * ROUNDS * 8];
static _Atomic unsigned said_count;

static void driver_call(void)
{
	size_t free_bytes, total_bytes;

	NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
}

static void say(uintptr_t number)
{
	said[said_count++] = (char)('0' + number);
}

static void *take_turns(void *number)
{
	static unsigned waiting;
	cudaStream_t stream = stream_new();
	struct timespec deadline;

	pthread_barrier_wait(&barrier);
	for (unsigned round = 0; round < ROUNDS; round++) {
		driver_call();
		say((uintptr_t)number);
		pthread_mutex_lock(&mutexes[0]);
		driver_call();
		if (++waiting % 2) {
			clock_gettime(CLOCK_REALTIME, &deadline);
			deadline.tv_sec++; /* the others may be at their end */
			pthread_cond_timedwait(&condition, &mutexes[0], &deadline);
		} else {
			pthread_cond_signal(&condition);
		}
		say((uintptr_t)number);
		pthread_mutex_unlock(&mutexes[0]);
		sem_wait(&semaphore);
		usleep(3);
		say((uintptr_t)number);
		sem_post(&semaphore);
		kernel_delay(2, stream);
		NEED(cudaStreamSynchronize(stream));
		say((uintptr_t)number);
		sched_yield();
	}
	return NULL;
}

/* --- Check, then act */

static void *made;
static unsigned made_count;

static void *make_once(void *unused)
{
	driver_call();
	if (!made) {
		driver_call();
		made = &made_count;
		made_count++;
	}
	return unused;
}

/* --- A list of free blocks */

static struct block {
	struct block *next;
	_Atomic unsigned users;
} blocks[BLOCKS], *first_free;
static bool locked;
static _Atomic unsigned shared;

static struct block *block_take(void)
{
	struct block *block;

	if (locked)
		pthread_mutex_lock(&mutexes[0]);
	block = first_free;
	driver_call();
	first_free = block->next;
	if (locked)
		pthread_mutex_unlock(&mutexes[0]);
	return block;
}

static void *use_block(void *unused)
{
	struct block *block = block_take();

	shared += atomic_fetch_add(&block->users, 1) > 0;
	driver_call();
	return unused;
}

/* --- Two locks */

static void *lock_both(void *number)
{
	unsigned first = (uintptr_t)number % 2;

	pthread_mutex_lock(&mutexes[first]);
	driver_call();
	pthread_mutex_lock(&mutexes[!first]);
	pthread_mutex_unlock(&mutexes[!first]);
	pthread_mutex_unlock(&mutexes[first]);
	return NULL;
}

/* --- A flag */

static _Atomic bool flag;

static void *ask_or_set(void *number)
{
	if (number == NULL) {
		driver_call();
		atomic_store(&flag, true);
	}
	while (!atomic_load(&flag))
		driver_call();
	return NULL;
}

static void run(void *(*start)(void *), unsigned count)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < count; i++)
		NEED(pthread_create(&threads[i], NULL, start, (void *)i));
	for (unsigned i = 0; i < count; i++)
		NEED(pthread_join(threads[i], NULL));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kernels_register();
	driver_call();
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&semaphore, 0, 1);
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i].next = first_free;
		first_free = &blocks[i];
	}
	locked = strcmp(what, "lock") == 0;
	if (strcmp(what, "turns") == 0)
		run(take_turns, THREADS);
	else if (strcmp(what, "made-twice") == 0)
		run(make_once, 2);
	else if (strcmp(what, "order") == 0)
		run(lock_both, 2);
	else if (strcmp(what, "spin") == 0)
		run(ask_or_set, 2);
	else
		run(use_block, THREADS);
	printf("%s made %u shared %u\n", said, made_count, shared);
	return made_count > 1 || shared ? 3 : 0;
}
