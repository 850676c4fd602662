/* The threads of a program: see crew.h. */
#include "tests/soak/crew.h"

#include <pthread.h>
#include <stdlib.h>

struct job {
	void (*run)(void *);
	void *argument;
	int *done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job jobs[CREW]; /* run NULL = nothing to do */
static __thread int self;

int crew_self(void)
{
	return self;
}

/* Locked. */
static void serve_until(const int *done)
{
	while (!*done) {
		struct job job = jobs[self];

		if (job.run == NULL) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		jobs[self].run = NULL;
		pthread_mutex_unlock(&lock);
		job.run(job.argument);
		pthread_mutex_lock(&lock);
		*job.done = 1;
		pthread_cond_broadcast(&changed);
	}
}

void crew_run(int thread, void (*run)(void *), void *argument)
{
	int done = 0;

	if (thread == self) {
		run(argument);
		return;
	}
	pthread_mutex_lock(&lock);
	jobs[thread] = (struct job){run, argument, &done};
	pthread_cond_broadcast(&changed);
	serve_until(&done);
	pthread_mutex_unlock(&lock);
}

void crew_run_all(void (*run)(void *), void *const arguments[CREW])
{
	int done[CREW] = {0};

	pthread_mutex_lock(&lock);
	for (int i = 0; i < CREW; i++)
		if (i != self)
			jobs[i] = (struct job){run, arguments[i], &done[i]};
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	run(arguments[self]);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < CREW; i++)
		if (i != self)
			serve_until(&done[i]);
	pthread_mutex_unlock(&lock);
}

static void *crew_main(void *number)
{
	static const int never;

	self = (int)(long)number;
	pthread_mutex_lock(&lock);
	serve_until(&never);
	return NULL;
}

void crew_start(void)
{
	pthread_t thread;

	for (long i = 1; i < CREW; i++)
		if (pthread_create(&thread, NULL, crew_main, (void *)i) != 0)
			abort();
}
