/* The baton, the call counters and the injected faults: see sim_call.h. */
#include "tests/sim/cuda/sim_call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_log.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_thread.h"
#include "tests/sim/cuda/sim_tsan.h"

SIM_EXPORT unsigned long sim_calls(const char *function);
SIM_EXPORT unsigned long sim_operations(void);
SIM_EXPORT void sim_fault_arm(const char *function, unsigned nth, int code);
SIM_EXPORT unsigned sim_fault_fired(const char *function);
SIM_EXPORT void sim_fault_watch(void (*watch)(const char *function));
SIM_EXPORT void sim_call_watch(void (*watch)(const char *function));

static pthread_mutex_t baton;
static pthread_cond_t baton_signal = PTHREAD_COND_INITIALIZER;
static unsigned long calls_total;
static enum sim_fn call_fn; /* the latest */
static unsigned long faults_total;
static _Thread_local unsigned depth;		  /* driver calls that the thread is in: kernels may make some */
static bool forked;				  /* from a process that had made a driver call */
static void (*fault_watch)(const char *function); /* NULL: nobody wants to know */
static void (*call_watch)(const char *function);  /* the same */

static struct {
	unsigned long calls; /* since the start of the process */
	unsigned due;	     /* calls until the armed fault fires; 0 = disarmed */
	unsigned fired;	     /* faults delivered */
	CUresult code;	     /* what the armed fault returns */
} fns[SIM_FN_COUNT];

static const char *const symbols[SIM_FN_COUNT] = {
#define SIM_FN(symbol, name, since, twin) #symbol,
#include "tests/sim/cuda/driver_names.def"
#undef SIM_FN
};

const char *sim_fn_symbol(enum sim_fn fn)
{
	return symbols[fn];
}

enum sim_fn sim_fn_find(const char *symbol)
{
	enum sim_fn fn = 0;

	while (fn < SIM_FN_COUNT && strcmp(symbols[fn], symbol) != 0)
		fn++;
	return fn;
}

bool sim_forked(void)
{
	return forked;
}

CUresult sim_enter(enum sim_fn fn)
{
	if (depth++ == 0)
		sim_thread_point(symbols[fn]);
	sim_baton_take();
	if (++calls_total == 1 && !forked)
		sim_log_begin();
	call_fn = fn;
	fns[fn].calls++;
	if (call_watch)
		call_watch(symbols[fn]);
	if (fns[fn].due && --fns[fn].due == 0) {
		fns[fn].fired++;
		faults_total++;
		if (fault_watch)
			fault_watch(symbols[fn]);
		sim_ctx_break(fns[fn].code);
		return fns[fn].code;
	}
	if (!forked)
		sim_sched_tick();
	return CUDA_SUCCESS;
}

void sim_leave(const CUresult *fault)
{
	(void)fault;
	depth--;
	sim_baton_give();
}

void sim_baton_give(void)
{
	pthread_mutex_unlock(&baton);
	sim_tsan_show();
}

void sim_baton_take(void)
{
	sim_tsan_hide();
	pthread_mutex_lock(&baton);
}

void sim_baton_wait(void)
{
	pthread_cond_wait(&baton_signal, &baton);
}

void sim_baton_wait_for(unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_clockwait(&baton_signal, &baton, CLOCK_MONOTONIC, &until);
}

void sim_baton_signal(void)
{
	pthread_cond_broadcast(&baton_signal);
}

unsigned long sim_calls_total(void)
{
	return calls_total;
}

enum sim_fn sim_call_fn(void)
{
	return call_fn;
}

unsigned sim_call_thread(void)
{
	static _Thread_local unsigned number;
	static unsigned last;

	if (!number)
		number = sim_thread_number();
	if (!number)
		number = ++last;
	return number;
}

unsigned long sim_faults_total(void)
{
	return faults_total;
}

unsigned long sim_calls(const char *function)
{
	enum sim_fn fn = sim_fn_find(function);

	return fn < SIM_FN_COUNT ? fns[fn].calls : 0;
}

unsigned long sim_operations(void)
{
	return calls_total + sim_sched_operations();
}

void sim_fault_arm(const char *function, unsigned nth, int code)
{
	enum sim_fn fn = sim_fn_find(function);

	if (fn == SIM_FN_COUNT) {
		fprintf(stderr, "gpushim-sim: no driver function is called '%s'\n", function);
		return;
	}
	sim_baton_take();
	fns[fn].due = nth;
	fns[fn].code = (CUresult)code;
	sim_baton_give();
}

unsigned sim_fault_fired(const char *function)
{
	enum sim_fn fn = sim_fn_find(function);

	return fn < SIM_FN_COUNT ? fns[fn].fired : 0;
}

void sim_fault_watch(void (*watch)(const char *function))
{
	fault_watch = watch;
}

void sim_call_watch(void (*watch)(const char *function))
{
	call_watch = watch;
}

/* "cuMemCreate:3:2,cuMemMap:1:2" */
static void faults_from_environment(const char *text)
{
	char function[80];
	unsigned nth;
	int code, used;

	while (sscanf(text, "%79[^:]:%u:%d%n", function, &nth, &code, &used) == 3) {
		sim_fault_arm(function, nth, code);
		text += used;
		if (*text == ',')
			text++;
	}
	if (*text)
		fprintf(stderr, "gpushim-sim: SIM_FAULT: cannot read '%s'; it is function:nth:code,...\n", text);
}

/* A driver call made by a kernel or by a signal handler must not hang the test: the baton is recursive. */
static void baton_init(void)
{
	pthread_mutexattr_t recursive;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&baton, &recursive);
}

/* The child's counts start from nothing, and the baton may have been another thread's. */
static void call_child(void)
{
	baton_init();
	forked |= calls_total > 0;
	calls_total = 0;
	for (enum sim_fn fn = 0; fn < SIM_FN_COUNT; fn++)
		fns[fn].calls = fns[fn].fired = 0;
	faults_total = 0;
}

__attribute__((constructor)) static void call_init(void)
{
	const char *faults = getenv("SIM_FAULT");

	baton_init();
	pthread_atfork(NULL, NULL, call_child);
	if (faults)
		faults_from_environment(faults);
}

/* Several processes of one test may write to the same file: each appends its lines in one write. */
static void report_counts(const char *variable, unsigned long (*value)(enum sim_fn fn))
{
	const char *path = getenv(variable);
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	for (enum sim_fn fn = 0; fn < SIM_FN_COUNT; fn++) {
		if (value(fn))
			fprintf(file, "%s %lu\n", symbols[fn], value(fn));
	}
	fclose(file);
}

static unsigned long calls_of(enum sim_fn fn)
{
	return fns[fn].calls;
}

static unsigned long fired_of(enum sim_fn fn)
{
	return fns[fn].fired;
}

__attribute__((destructor)) static void call_fini(void)
{
	report_counts("SIM_CALLS", calls_of);
	report_counts("SIM_FAULT_REPORT", fired_of);
}
