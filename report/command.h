/* The commands of gpushim-report. command.def is their table. */
#ifndef GSR_COMMAND_H
#define GSR_COMMAND_H

#include "report/option.h"
#include "report/text.h"
#include "report/usage.h"

/* Exit status of the program and of each command. */
enum gsr_status { GSR_FINE = 0, GSR_FINDING = 1, GSR_UNUSABLE = 2 };

/* Print one snapshot. path is for headings only. Return the status. */
int gsr_summary(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_launch(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_sync(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_top(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_graph(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_check(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_frag(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_import(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_symbolize(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_timeline(const char *path, const struct gsr_model *model, const struct gsr_options *options);
int gsr_leaks(const char *path, const struct gsr_model *model, const struct gsr_options *options);

/* Of several files at once. Return the status. */
int gsr_diff(char *const *words, int count, const struct gsr_options *options);
int gsr_export(char *const *words, int count, const struct gsr_options *options);
int gsr_merge(char *const *words, int count, const struct gsr_options *options);

/* Writes a page, where -o says or beside the snapshot. */
int gsr_html(const char *path, const struct gsr_model *model, const struct gsr_options *options);

/* Ask a running process, by its number. Return the status. */
int gsr_live(const char *pid, const struct gsr_options *options);
int gsr_snapshot(const char *pid, const struct gsr_options *options);

/* Prints what makes a shell complete. Returns the status. */
int gsr_completion(const char *shell, const struct gsr_options *options);

/* Makes a snapshot of a ring file. Returns the status. */
int gsr_recover(const char *path, const struct gsr_options *options);

/* For help and completion: the figures that check knows, the formats that export knows. */
void gsr_check_help(void);
void gsr_export_help(void);
const char *gsr_export_names(void); /* joined by | */

/* "python train.py": the command line in one text, cut where it is long. */
char *gsr_command_text(const struct gsr_model *model, char text[GSR_CELL_BYTES]);

/* The first line of what a command prints: file, program, process, moment. */
void gsr_print_title(const char *path, const struct gsr_model *model);

/* The rules that the options or the snapshot's settings name. A file that only the settings name is not always here: where
 * it cannot be used, that is said, and the built-in rules serve. NULL: the options' file cannot be used, which was said. */
struct gsr_categories *gsr_command_categories(const struct gsr_model *model, struct gsr_places *places,
					      const struct gsr_options *options);

/* The name of a file that was written: alone on a line, or as the one key of an object. */
void gsr_name_print(const char *key, const char *name, const struct gsr_options *options);

/* Prints the object on one line and drops it. */
void gsr_json_print(cJSON *object);

/* "LINE", "FUNCTION" */
const char *gsr_group_head(enum gsr_group_by by);

/* The groups, best first, as rows of a table or of JSON; at most `rows` of them. heads name the figures. */
void gsr_usage_print(struct gsr_places *places, const struct gsr_model *model, const struct gsr_usage *usage,
		     const struct gsr_options *options);
cJSON *gsr_usage_json(struct gsr_places *places, const struct gsr_model *model, const struct gsr_usage *usage,
		      const struct gsr_options *options);

#endif
