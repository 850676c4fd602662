/* How paths appear in a snapshot: full, relative, hashed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/snap/path_out.h"

/* The text as it stands in the document, without quotes. */
static char *shown(enum gs_conf_paths mode, const char *folder, const char *text)
{
	static char out[8192];
	char buffer[GS_JSON_MIN_BUFFER];
	struct gs_paths paths = {mode, folder};
	struct gs_json json;
	int ends[2];
	ssize_t length;

	assert_int_equal(pipe(ends), 0);
	gs_json_init(&json, ends[1], buffer, sizeof(buffer));
	gs_json_array_begin(&json, NULL);
	gs_path_text(&json, NULL, text, &paths);
	gs_json_array_end(&json);
	assert_int_equal(gs_json_end(&json), 0);
	close(ends[1]);
	length = read(ends[0], out, sizeof(out) - 1);
	close(ends[0]);
	while (length > 0 && (out[length - 1] == '\n' || out[length - 1] == ']'))
		length--;
	out[length - 1] = '\0';
	return strchr(out, '"') + 1;
}

#define JOB "/home/eve/job"
#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py"

static void full_is_as_it_is(void **state)
{
	(void)state;
	assert_string_equal(shown(GS_PATHS_FULL, JOB, JOB "/train.py"), JOB "/train.py");
	assert_string_equal(shown(GS_PATHS_FULL, JOB, TORCH), TORCH);
}

static void relative_hides_what_leads_there(void **state)
{
	(void)state;
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, JOB "/net/model.py"), "net/model.py");
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, JOB), ".");
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, JOB "2/model.py"), ".../model.py");
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, TORCH), ".../site-packages/torch/nn/functional.py");
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, "/usr/lib/python3.12/queue.py"), ".../lib/python3.12/queue.py");
	assert_string_equal(shown(GS_PATHS_RELATIVE, "", "/home/eve/x.py"), ".../x.py");
	assert_string_equal(shown(GS_PATHS_RELATIVE, "/", "/x.py"), ".../x.py");
}

static void hash_tells_folders_apart(void **state)
{
	char here[64], there[64];

	(void)state;
	strcpy(here, shown(GS_PATHS_HASH, JOB, JOB "/model.py"));
	strcpy(there, shown(GS_PATHS_HASH, JOB, JOB "/old/model.py"));
	assert_int_equal(strspn(here, "0123456789abcdef"), 8);
	assert_string_equal(here + 8, "/model.py");
	assert_string_equal(there + 8, "/model.py");
	assert_string_not_equal(here, there);
	assert_string_equal(shown(GS_PATHS_HASH, JOB, JOB "/model.py"), here);
	assert_string_equal(shown(GS_PATHS_HASH, JOB, TORCH) + 8, "/site-packages/torch/nn/functional.py");
}

static void what_is_no_path_stays(void **state)
{
	(void)state;
	assert_string_equal(shown(GS_PATHS_HASH, JOB, "forward"), "forward");
	assert_string_equal(shown(GS_PATHS_RELATIVE, JOB, "<frozen importlib>"), "<frozen importlib>");
	assert_string_equal(shown(GS_PATHS_HASH, JOB, ""), "");
}

static void a_path_of_any_length(void **state)
{
	static char path[3 * 4096];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	assert_true(strlen(shown(GS_PATHS_RELATIVE, JOB, path)) > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_is_as_it_is),	     cmocka_unit_test(relative_hides_what_leads_there),
		cmocka_unit_test(hash_tells_folders_apart), cmocka_unit_test(what_is_no_path_stays),
		cmocka_unit_test(a_path_of_any_length),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
