/* See worker.h. */
#include "shim/base/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "shim/base/err.h"

#define STACK_BYTES_LEAST (1u << 20)

int gsb_worker_start(void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	size_t stack_bytes = 0;
	pthread_t thread;
	int error;

	if (pthread_attr_init(&attributes) != 0)
		return GS_E_NO_HOST_MEMORY;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_getstacksize(&attributes, &stack_bytes);
	if (stack_bytes < STACK_BYTES_LEAST)
		pthread_attr_setstacksize(&attributes, STACK_BYTES_LEAST);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error == 0 ? GS_OK : GS_E_NO_HOST_MEMORY;
}
