/* shim/snap/process: what a process says about itself. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/os.h"
#include "shim/snap/process.h"

static int64_t rank_with(const char *name, const char *value, const char *fallback)
{
	static struct gs_snapshot_process process;

	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("SLURM_PROCID");
	unsetenv("RANK");
	unsetenv("PMI_RANK");
	if (name != NULL)
		setenv(name, value, 1);
	if (fallback != NULL)
		setenv("PMI_RANK", fallback, 1);
	gs_snapshot_process_start(&process);
	return process.rank;
}

static void ranks_are_digits_only(void **state)
{
	(void)state;
	assert_int_equal(rank_with(NULL, NULL, NULL), -1);
	assert_int_equal(rank_with("RANK", "0", NULL), 0);
	assert_int_equal(rank_with("OMPI_COMM_WORLD_RANK", "12", NULL), 12);
	assert_int_equal(rank_with("SLURM_PROCID", "7", "8"), 7);
	assert_int_equal(rank_with("RANK", "3/../../etc", "8"), 8);
	assert_int_equal(rank_with("RANK", "", NULL), -1);
	assert_int_equal(rank_with("RANK", "-1", NULL), -1);
	assert_int_equal(rank_with("RANK", "12345678901234567890", NULL), -1);
}

static void the_start_is_kept(void **state)
{
	static struct gs_snapshot_process process;
	static char long_conf[8000];
	char folder[1024];

	(void)state;
	setenv("GPUSHIM_ALLOC_CONF", "snapshot:exit", 1);
	gs_snapshot_process_start(&process);
	assert_string_equal(process.conf_text, "snapshot:exit");
	assert_string_equal(process.folder, getcwd(folder, sizeof(folder)));
	assert_true(process.start_monotonic_ns <= gsb_os_now_ns());
	memset(long_conf, 'x', sizeof(long_conf) - 1);
	setenv("GPUSHIM_ALLOC_CONF", long_conf, 1);
	gs_snapshot_process_start(&process);
	assert_int_equal(strlen(process.conf_text), sizeof(process.conf_text) - 1);
	unsetenv("GPUSHIM_ALLOC_CONF");
	gs_snapshot_process_start(&process);
	assert_string_equal(process.conf_text, "");
}

static void a_reading_is_about_now(void **state)
{
	static struct gs_snapshot_process process;
	char path[1024];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	path[length] = '\0';
	gs_snapshot_process_start(&process);
	gs_snapshot_process_read(&process);
	assert_int_equal(process.pid, getpid());
	assert_int_equal(process.ppid, getppid());
	assert_string_equal(process.executable, path);
	assert_non_null(strstr(process.command, "test_snap_process"));
	assert_int_equal(process.command[process.command_bytes - 1], '\0');
	assert_true(process.dump_monotonic_ns >= process.start_monotonic_ns);
	assert_true(process.hostname[0] != '\0');
}

static pthread_barrier_t barrier;

static void *named_thread(void *name)
{
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads_are_listed_by_name(void **state)
{
	struct gs_snapshot_thread threads[8];
	pthread_t thread;
	bool main_seen = false, other_seen = false;
	size_t count;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, named_thread, "worker \"7\"");
	pthread_barrier_wait(&barrier);
	count = gs_snapshot_threads_read(NULL, 0);
	assert_in_range(count, 2, 3); /* ThreadSanitizer adds one of its own */
	assert_int_equal(gs_snapshot_threads_read(threads, 1), count);
	assert_int_equal(gs_snapshot_threads_read(threads, 8), count);
	for (size_t i = 0; i < count; i++) {
		main_seen |=
		    threads[i].tid == (uint32_t)getpid() && strncmp(threads[i].name, "test_snap_proc", 14) == 0;
		other_seen |= threads[i].tid != (uint32_t)getpid() && strcmp(threads[i].name, "worker \"7\"") == 0;
	}
	assert_true(main_seen);
	assert_true(other_seen);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranks_are_digits_only),
	    cmocka_unit_test(the_start_is_kept),
	    cmocka_unit_test(a_reading_is_about_now),
	    cmocka_unit_test(threads_are_listed_by_name),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
