/* The table of settings as a whole: every row does something to its field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/text.h"
#include "shim/core/conf.h"

/* Set to something else than its default, each setting shows that. */
static void set_row(void *user, const char *name, const char *type, const char *values, const char *initial,
		    const char *help)
{
	const char *dots = strstr(values, ".."), *last = dots != NULL ? dots + 2 : values;
	char pair[256], shown[256];
	struct gsb_text text;
	struct gs_conf conf;

	(void)user, (void)help;
	if (strcmp(type, "True or False") == 0)
		last = strcmp(initial, "True") == 0 ? "False" : "True";
	else if (strcmp(type, "number") == 0 || strcmp(type, "size") == 0)
		last = strcmp(last, initial) == 0 ? "0.5" : last;
	else if (strcmp(type, "path") == 0)
		last = "elsewhere";
	else
		return; /* lists of words: each of their words has a test */
	snprintf(pair, sizeof(pair), "%s:%s", name, last);
	gs_conf_init(&conf);
	assert_int_equal(gs_conf_parse(pair, &conf, NULL, NULL), 0);
	gsb_text_init(&text, shown, sizeof(shown));
	gs_conf_value_add(&text, &conf, name);
	assert_string_not_equal(shown, initial);
}

static void every_setting_can_be_set(void **state)
{
	(void)state;
	gs_conf_rows(set_row, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_setting_can_be_set),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("conf rows", tests, NULL, NULL);
}
