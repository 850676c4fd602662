/* The end of each step comes to the host by cudaLaunchHostFunc and a condition variable: such waits are no call of CUDA's and in no
 * report, as the documentation says.
 *
 * policy: in-order */
#include <pthread.h>

#include "tests/labelled/blind/work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned steps_done;

static void step_done(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	steps_done++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static APART void step_await(unsigned step)
{
	pthread_mutex_lock(&lock);
	while (steps_done <= step)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		busy(words, stream);
		NEED(cudaLaunchHostFunc(stream, step_done, NULL));
		step_await(step);
		host_works();
	}
	return 0;
}
