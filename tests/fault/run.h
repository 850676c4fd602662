/* One run of a scenario with one fault, in processes of its own: what fails, whose call it was, what the program saw
 * and what it left behind. The run starts as a fork of a process that has made no CUDA call. */
#ifndef FAULT_RUN_H
#define FAULT_RUN_H

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fault.h"
#include "shim/gpushim.h"
#include "tests/fault/step.h"
#include "tests/sim/sim.h"

enum { ROLES_MAX = 2, RUN_LIMIT_S = 30, DEVICES = 4 };

struct scenario {
	const char *name;
	void (*warm)(void);	      /* before faults are armed; NULL: from the first call on */
	void (*run[ROLES_MAX])(void); /* the second: another process, tied by a socket */
	void (*settle)(void);	      /* after the faults: waits for the device */
	bool shim_only;		      /* the plain run cannot do it: only the rules that need no comparison hold */
};

static int sweep_other; /* socket to the process of the other role */

static const char *const sweep_functions[] = {
#define SIM_FN(symbol, name, since, twin) #symbol,
#include "tests/sim/cuda/driver_names.def"
#undef SIM_FN
};

static const char *const sweep_points[] = {
#define POINT_NAME(name) #name,
    GSB_FAULTS_LIST(POINT_NAME)
#undef POINT_NAME
};

enum { FUNCTIONS = sizeof(sweep_functions) / sizeof(sweep_functions[0]) };

/* What fails in a run. */
struct fault {
	const char *function; /* NULL: no driver call */
	const char *point;    /* NULL: no fault point */
	unsigned nth;	      /* 0: nothing fails */
	int code;
	unsigned role;
};

/* What one process of a run leaves behind, in memory that is shared with it. */
struct outcome {
	struct record record;
	unsigned long calls[FUNCTIONS];
	size_t held[SIM_HELD_KINDS];
	size_t used;		      /* of the driver's memory, what holds blocks that the program never freed */
	size_t noted_now, noted_ever; /* addresses that the driver served: in the table, and put there */
	bool fired;
	bool own;	/* the call that failed was the program's */
	char entry[48]; /* the entry of the shim below which it was made */
	bool finished;
};

/* Where the calls of the run without a fault came from: by each call's number, a hash of the stack and of the step that
 * the program had taken before it. Calls beyond the room are not known. */
enum { SITES_MAX = 4096 };
struct sites {
	unsigned count[FUNCTIONS];
	uint64_t hash[FUNCTIONS][SITES_MAX];
};

static struct sites *sweep_sites;  /* ROLES_MAX, shared */
static struct sites *sweep_here;   /* of the running process */
static struct outcome *sweep_runs; /* ROLES_MAX, shared */
static struct outcome *sweep_own;  /* of the running process */
static bool sweep_with_shim;
static char sweep_errors[4096]; /* path of what the runs print */

/* Whose call fails: the program's own if the shim was entered by the same function, or has no part in it. */
static void sweep_fired(const char *function)
{
	void *frames[64];
	int count = backtrace(frames, 64);
	bool shim = false;

	sweep_own->fired = true;
	sweep_own->entry[0] = '\0';
	for (int i = 0; i < count; i++) {
		Dl_info info;

		if (dladdr(frames[i], &info) == 0 || strstr(info.dli_fname, "libgpushim") == NULL ||
		    (info.dli_sname != NULL && strncmp(info.dli_sname, "cuda", 4) == 0))
			continue;
		shim = true;
		if (info.dli_sname != NULL && strncmp(info.dli_sname, "cu", 2) == 0)
			snprintf(sweep_own->entry, sizeof(sweep_own->entry), "%s", info.dli_sname);
	}
	sweep_own->own = !shim || strcmp(sweep_own->entry, function) == 0;
}

static void sweep_called(const char *function)
{
	void *frames[64];
	int count = backtrace(frames, 64);
	unsigned i = 0;
	uint64_t hash = 14695981039346656037ull;

	while (strcmp(sweep_functions[i], function) != 0)
		i++;
	if (sweep_here->count[i] == SITES_MAX)
		return;
	for (int frame = 0; frame < count; frame++)
		hash = (hash ^ (uintptr_t)frames[frame]) * 1099511628211ull;
	if (step_record->count > 0)
		for (const char *at = step_record->steps[step_record->count - 1].text; *at != '\0'; at++)
			hash = (hash ^ (unsigned char)*at) * 1099511628211ull;
	sweep_here->hash[i][sweep_here->count[i]++] = hash;
}

static void *sweep_need(const char *symbol)
{
	void *found = sim_find(symbol);

	if (found == NULL) {
		printf("Bail out! no %s: needs the simulated driver, and the checking build of the shim\n", symbol);
		exit(2);
	}
	return found;
}

static void sweep_arm(const struct fault *fault, bool on)
{
	sim_fault_arm_fn *arm = (sim_fault_arm_fn *)sweep_need("sim_fault_arm");

	if (fault->function != NULL)
		arm(fault->function, on ? fault->nth : 0, fault->code);
	if (fault->point != NULL) {
		int (*point_arm)(const char *, unsigned, unsigned) = sweep_need("gpushim_check_fault_arm");
		unsigned (*fired)(const char *) = sweep_need("gpushim_check_fault_fired");

		if (!on)
			sweep_own->fired = fired(fault->point) != 0;
		point_arm(fault->point, on ? fault->nth - 1 : 0, on ? (unsigned)fault->code : 0);
	}
}

/* Everything free goes back to the driver; then it is counted what is left. */
static void sweep_close(const struct scenario *scenario)
{
	static const char *const names[SIM_HELD_KINDS] = {
	    [SIM_HELD_STREAMS] = "streams held", [SIM_HELD_GRAPHS] = "graphs held"};
	sim_held_fn *held = (sim_held_fn *)sweep_need("sim_held");

	scenario->settle();
	if (sweep_with_shim) {
		__typeof__(gpushim_trim) *trim = sweep_need("gpushim_trim");
		unsigned (*walk)(void) = sweep_need("gpushim_check_walk");
		void (*fences)(void) = sweep_need("gpushim_check_fences");
		void (*graphs)(void) = sweep_need("gpushim_check_graphs");
		unsigned (*used)(void) = sweep_need("gpushim_check_used");
		void (*noted)(size_t *, size_t *) = sweep_need("gpushim_check_noted");

		walk();
		graphs();
		for (int i = 0; i < 4 * DEVICES; i++) /* each finds what the one before has asked about */
			trim(i % DEVICES, 0);
		walk();
		fences();
		sweep_own->used = used();
		noted(&sweep_own->noted_now, &sweep_own->noted_ever);
	}
	for (enum sim_held_kind kind = 0; kind < SIM_HELD_KINDS; kind++) {
		sweep_own->held[kind] = held(kind);
		if (names[kind] != NULL)
			step_note(names[kind], (int)held(kind));
	}
}

static _Noreturn void sweep_process(const struct scenario *scenario, unsigned role, const struct fault *fault)
{
	sim_fault_watch_fn *watch = (sim_fault_watch_fn *)sweep_need("sim_fault_watch");
	sim_call_watch_fn *watch_calls = (sim_call_watch_fn *)sweep_need("sim_call_watch");
	sim_calls_fn *calls = (sim_calls_fn *)sweep_need("sim_calls");
	bool armed = fault->nth != 0 && fault->role == role;

	sweep_own = &sweep_runs[role];
	step_record = &sweep_own->record;
	alarm(RUN_LIMIT_S);
	watch(sweep_fired);
	if (scenario->warm != NULL)
		scenario->warm();
	for (unsigned i = 0; fault->nth == 0 && i < FUNCTIONS; i++)
		sweep_own->calls[i] = calls(sweep_functions[i]);
	sweep_here = &sweep_sites[role];
	if (fault->nth == 0) {
		memset(sweep_here->count, 0, sizeof(sweep_here->count));
		watch_calls(sweep_called);
	}
	if (armed)
		sweep_arm(fault, true);
	scenario->run[role]();
	watch_calls(NULL);
	if (armed)
		sweep_arm(fault, false);
	for (unsigned i = 0; fault->nth == 0 && i < FUNCTIONS; i++)
		sweep_own->calls[i] = calls(sweep_functions[i]) - sweep_own->calls[i];
	sweep_close(scenario);
	sweep_own->finished = true;
	exit(0);
}

/* 0, or what is wrong with how the processes ended. */
static const char *sweep_run(const struct scenario *scenario, const struct fault *fault)
{
	unsigned roles = scenario->run[1] != NULL ? 2 : 1;
	int sockets[2], status;
	const char *wrong = NULL;
	pid_t pids[ROLES_MAX];

	memset(sweep_runs, 0, ROLES_MAX * sizeof(*sweep_runs));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0 || truncate(sweep_errors, 0) != 0)
		return "no socket";
	fflush(stdout);
	for (unsigned role = 0; role < roles; role++) {
		pids[role] = fork();
		if (pids[role] == 0) {
			sweep_other = sockets[role];
			close(sockets[1 - role]);
			sweep_process(scenario, role, fault);
		}
	}
	close(sockets[0]);
	close(sockets[1]);
	for (unsigned role = 0; role < roles; role++) {
		waitpid(pids[role], &status, 0);
		if (WIFSIGNALED(status))
			wrong = WTERMSIG(status) == SIGALRM ? "hangs" : "dies";
		else if (WEXITSTATUS(status) == SIM_SHADOW_STATUS)
			wrong = "work met memory that was not its own";
		else if (!sweep_runs[role].finished || WEXITSTATUS(status) != 0)
			wrong = "ends early";
	}
	return wrong;
}

#endif
