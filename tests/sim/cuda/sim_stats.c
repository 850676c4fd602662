/* SIM_STATS=file: one line appended at the end of each process that made a driver call, in one write:
 *
 *   program seed policy calls operations faults choices hash
 *
 * calls of the driver, queued operations that ran, faults that fired, choices of the scheduler and a hash of them.
 * What ends by a signal, by _exit or by exec tells nothing. scripts/run-tests sums up. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_log.h"
#include "tests/sim/cuda/sim_sched.h"

static unsigned long operations_before; /* the parent's */

static void stats_child(void)
{
	operations_before = sim_sched_operations();
}

__attribute__((constructor)) static void stats_init(void)
{
	pthread_atfork(NULL, NULL, stats_child);
}

__attribute__((destructor)) static void stats_fini(void)
{
	const char *path = getenv("SIM_STATS");
	int fd = path && *path && sim_calls_total() ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	char line[300];
	sighandler_t before;
	int length;

	if (fd < 0)
		return;
	length =
	    snprintf(line, sizeof(line), "%.100s %" PRIu64 " %s %lu %lu %lu %lu %016" PRIx64 "\n",
		     program_invocation_short_name, sim_conf()->seed, sim_conf_policy_name(), sim_calls_total(),
		     sim_sched_operations() - operations_before, sim_faults_total(), sim_log_count(), sim_log_hash());
	before = signal(SIGXFSZ, SIG_IGN); /* a limit of the file size is the program's own business */
	if (write(fd, line, (size_t)length) != length && errno != EFBIG)
		fprintf(stderr, "gpushim-sim: cannot write %s\n", path);
	signal(SIGXFSZ, before);
	close(fd);
}
