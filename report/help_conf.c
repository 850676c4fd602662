/* See help_conf.h. */
#include "report/help_conf.h"

#include <string.h>

#include "shim/core/conf.h"

/* "a|b|c" as "a, b, c": a bar would end a column. */
static void print_values(FILE *out, const char *values)
{
	for (const char *at = values; *at != '\0'; at++) {
		if (*at == '|')
			fputs(", ", out);
		else
			fputc(*at, out);
	}
}

/* What may be written, in words: the type where there is no list and no range. */
static void print_choice(FILE *out, const char *type, const char *values)
{
	if (strncmp(type, "list", strlen("list")) == 0) {
		fputs("off, or joined by +: ", out);
		print_values(out, values);
	} else if (strcmp(type, "one of") == 0) {
		print_values(out, values);
	} else if (values[0] != '\0') {
		fprintf(out, "%s %s", type, values);
	} else {
		fputs(type, out);
	}
}

static void markdown_row(void *user, const char *name, const char *type, const char *values, const char *initial,
			 const char *help)
{
	FILE *out = user;

	fprintf(out, "| `%s` | ", name);
	print_choice(out, type, values);
	fprintf(out, initial[0] != '\0' ? " | `%s` | %s |\n" : " | %s | %s |\n", initial, help);
}

static void text_row(void *user, const char *name, const char *type, const char *values, const char *initial,
		     const char *help)
{
	FILE *out = user;

	fprintf(out, "\n%s:%s\n    %s\n    ", name, initial, help);
	print_choice(out, type, values);
	fputc('\n', out);
}

void gsr_help_conf(FILE *out, bool markdown)
{
	if (markdown) {
		fputs("| key | values | default | meaning |\n| --- | --- | --- | --- |\n", out);
		gs_conf_rows(markdown_row, out);
		return;
	}
	fputs("GPUSHIM_ALLOC_CONF=key:value,key:value\n\nThe keys, with their defaults:\n", out);
	gs_conf_rows(text_row, out);
}
