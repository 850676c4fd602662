/* See category.h. What a stack is for is found once: most memory comes from few places. */
#include "report/category.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024

struct rule {
	const char *category, *kind, *file, *function;
};

static const struct rule built_in[] = {
#define CATEGORY(category, kind, file, function) {category, kind, file, function},
#include "report/category.def"
};

struct gsr_categories {
	const struct gsr_model *model;
	struct gsr_places *places;
	struct rule *rules;
	size_t rule_count;
	char **lines; /* of the user's file, cut into the words that rules point to */
	size_t line_count;
	const char **of_frame; /* NULL: not looked at yet; "": it does not tell */
	const char **of_stack; /* the same */
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static void rule_add(struct gsr_categories *categories, const struct rule *rule)
{
	categories->rules =
		or_end(realloc(categories->rules, (categories->rule_count + 1) * sizeof(*categories->rules)));
	categories->rules[categories->rule_count++] = *rule;
}

static int line_complain(const char *path, unsigned number, const char *why)
{
	fprintf(stderr, "gpushim-report: %s:%u: %s\n", path, number, why);
	return -1;
}

static int line_read(struct gsr_categories *categories, const char *path, unsigned number, const char *text)
{
	static const char *const blanks = " \t\r\n";
	struct rule rule;
	char *line, *rest = NULL;

	line = or_end(strdup(text));
	categories->lines = or_end(realloc(categories->lines, (categories->line_count + 1) * sizeof(char *)));
	categories->lines[categories->line_count++] = line;
	line[strcspn(line, "#")] = '\0';
	for (size_t length = strlen(line); length > 0 && strchr(blanks, line[length - 1]) != NULL; length--)
		line[length - 1] = '\0';
	rule.category = strtok_r(line, blanks, &rest);
	if (rule.category == NULL)
		return 0;
	rule.kind = strtok_r(NULL, blanks, &rest);
	rule.file = strtok_r(NULL, blanks, &rest);
	rule.function = strtok_r(NULL, "", &rest);
	if (rule.function != NULL)
		rule.function += strspn(rule.function, blanks);
	if (rule.kind == NULL ||
	    (strcmp(rule.kind, "python") != 0 && strcmp(rule.kind, "native") != 0 && strcmp(rule.kind, "thread") != 0))
		return line_complain(path, number, "a rule is: CATEGORY python|native|thread FILE [FUNCTION]");
	if (rule.file == NULL)
		return line_complain(path, number, "a rule wants a pattern for the file");
	if (rule.function == NULL)
		rule.function = "*";
	rule_add(categories, &rule);
	return 0;
}

static int file_read(struct gsr_categories *categories, const char *path)
{
	FILE *file = fopen(path, "re");
	char text[LINE_BYTES];
	int error = 0;

	if (file == NULL) {
		fprintf(stderr, "gpushim-report: rules for categories: %s: %s\n", path, strerror(errno));
		return -1;
	}
	for (unsigned number = 1; error == 0 && fgets(text, sizeof(text), file) != NULL; number++) {
		if (strlen(text) == sizeof(text) - 1)
			error = line_complain(path, number, "the line is too long");
		else
			error = line_read(categories, path, number, text);
	}
	if (error == 0 && ferror(file)) {
		fprintf(stderr, "gpushim-report: rules for categories: %s: %s\n", path, strerror(errno));
		error = -1;
	}
	fclose(file);
	return error;
}

struct gsr_categories *gsr_categories_new(const struct gsr_model *model, struct gsr_places *places, const char *path)
{
	struct gsr_categories *categories = or_end(calloc(1, sizeof(*categories)));

	categories->model = model;
	categories->places = places;
	categories->of_frame = or_end(calloc(GSR_ROWS(model, frames) + 1, sizeof(char *)));
	categories->of_stack = or_end(calloc(GSR_ROWS(model, stacks) + 1, sizeof(char *)));
	if (path != NULL && file_read(categories, path) != 0) {
		gsr_categories_drop(categories);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		rule_add(categories, &built_in[i]);
	return categories;
}

void gsr_categories_drop(struct gsr_categories *categories)
{
	for (size_t i = 0; i < categories->line_count; i++)
		free(categories->lines[i]);
	free(categories->lines);
	free(categories->rules);
	free(categories->of_frame);
	free(categories->of_stack);
	free(categories);
}

/* A Python function is called "forward", or "Block.forward" where the interpreter knows the class. */
static bool function_fits(const struct rule *rule, const char *function)
{
	const char *dot = strcmp(rule->kind, "python") == 0 ? strrchr(function, '.') : NULL;

	return fnmatch(rule->function, function, 0) == 0 || (dot != NULL && fnmatch(rule->function, dot + 1, 0) == 0);
}

/* A pattern without a slash is also one of a file's name without folders. */
static bool file_fits(const struct rule *rule, const char *file)
{
	const char *slash = strchr(rule->file, '/') == NULL ? strrchr(file, '/') : NULL;

	return fnmatch(rule->file, file, 0) == 0 || (slash != NULL && fnmatch(rule->file, slash + 1, 0) == 0);
}

static const char *rules_apply(const struct gsr_categories *categories, const char *kind, const char *file,
			       const char *function)
{
	for (size_t i = 0; i < categories->rule_count; i++) {
		const struct rule *rule = &categories->rules[i];

		if (strcmp(rule->kind, kind) == 0 && file_fits(rule, file) &&
		    (function == NULL || function_fits(rule, function)))
			return rule->category;
	}
	return NULL;
}

static const char *frame_apply(const struct gsr_categories *categories, uint64_t frame)
{
	const char *file, *function, *category;

	if (frame == 0)
		return "";
	gsr_frame_names(categories->places, frame, &file, &function);
	category = rules_apply(categories, GSR_NAME(categories->model, frames, kind, frame), file, function);
	return category != NULL ? category : "";
}

/* Stacks share callers: each on the way gets its answer too. */
static const char *stack_apply(const struct gsr_categories *categories, uint64_t stack)
{
	const struct gsr_model *model = categories->model;
	const char *category = "";

	for (uint64_t at = stack; at != 0; at = GSR_CELL(model, stacks, parent, at)) {
		const char **of_frame = &categories->of_frame[GSR_CELL(model, stacks, frame, at)];

		if (categories->of_stack[at] != NULL) {
			category = categories->of_stack[at];
			break;
		}
		if (*of_frame == NULL)
			*of_frame = frame_apply(categories, GSR_CELL(model, stacks, frame, at));
		category = *of_frame;
		if (category[0] != '\0')
			break;
	}
	for (uint64_t at = stack; at != 0 && categories->of_stack[at] == NULL;
	     at = GSR_CELL(model, stacks, parent, at)) {
		categories->of_stack[at] = category;
		if (categories->of_frame[GSR_CELL(model, stacks, frame, at)][0] != '\0')
			break;
	}
	return category;
}

static const char *thread_apply(const struct gsr_categories *categories, uint64_t thread)
{
	const char *name = gsr_thread_name(categories->model, thread);
	const char *category = name[0] != '\0' ? rules_apply(categories, "thread", name, NULL) : NULL;

	return category != NULL ? category : "other";
}

const char *gsr_category_of(struct gsr_categories *categories, uint64_t stack, uint64_t thread)
{
	const char *category = stack_apply(categories, stack);

	return category[0] != '\0' ? category : thread_apply(categories, thread);
}
