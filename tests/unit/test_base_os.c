/* Pages, clocks, thread ids and small files; errno stays as it was through all of it. Error texts too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/err.h"
#include "shim/base/os.h"

static void test_pages(void **state)
{
	unsigned char *pages;

	(void)state;
	errno = EXDEV;
	pages = gsb_os_pages_map(3 * GSB_PAGE_BYTES + 1);
	assert_non_null(pages);
	assert_int_equal((uintptr_t)pages % GSB_PAGE_BYTES, 0);
	for (size_t i = 0; i < 4 * GSB_PAGE_BYTES; i++)
		assert_int_equal(pages[i], 0);
	memset(pages, 1, 4 * GSB_PAGE_BYTES);
	gsb_os_pages_unmap(pages, 3 * GSB_PAGE_BYTES + 1);
	assert_null(gsb_os_pages_map((size_t)1 << 62));
	assert_int_equal(errno, EXDEV);
}

static void test_clocks(void **state)
{
	struct timespec now;
	uint64_t first = gsb_os_now_ns(), second = gsb_os_now_ns();

	(void)state;
	assert_true(second >= first);
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true(gsb_os_wall_ns() / 1000000000u - (uint64_t)now.tv_sec < 60);
}

static void *tid_of(void *ret_tid)
{
	*(uint32_t *)ret_tid = gsb_os_tid();
	return NULL;
}

static void test_tid(void **state)
{
	pthread_t thread;
	uint32_t other = 0;

	(void)state;
	assert_int_equal(gsb_os_tid(), getpid());
	assert_int_equal(pthread_create(&thread, NULL, tid_of, &other), 0);
	pthread_join(thread, NULL);
	assert_int_not_equal(other, 0);
	assert_int_not_equal(other, getpid());
}

static void test_read_file(void **state)
{
	char path[] = "/tmp/gpushim-os.XXXXXX", text[8];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	errno = EXDEV;
	assert_int_equal(gsb_os_read_file(path, text, sizeof(text)), 7);
	assert_string_equal(text, "0123456");
	unlink(path);
	errno = EXDEV;
	assert_int_equal(gsb_os_read_file(path, text, sizeof(text)), GS_E_IO);
	assert_string_equal(text, "0123456");
	assert_int_equal(gsb_os_read_file("/dev/null", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(gsb_os_read_file("/", text, sizeof(text)), GS_E_IO);
	assert_int_equal(gsb_os_read_file("/proc/self/stat", text, 1), 0);
	assert_int_equal(errno, EXDEV);
}

static void test_error_texts(void **state)
{
	(void)state;
	assert_string_equal(gs_error_text(GS_OK), "no error");
#define GS_ERROR_CHECK(name, value, text)                                                                              \
	assert_int_equal(name, value);                                                                                 \
	assert_string_equal(gs_error_text(value), text);
	GS_ERRORS(GS_ERROR_CHECK)
	assert_string_equal(gs_error_text(-1000), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pages),     cmocka_unit_test(test_clocks),	  cmocka_unit_test(test_tid),
	    cmocka_unit_test(test_read_file), cmocka_unit_test(test_error_texts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
