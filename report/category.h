/* What memory is for: parameters, gradients, activations and so on, told by the place where it was allocated.
 *
 * Rules come from report/category.def and, before those, from a file of the user: one rule a line,
 *
 *     CATEGORY python|native|thread FILE [FUNCTION]      # as in category.def; without a function any one fits
 *
 * What no rule fits is "other". The categories are guesses by name: they are right where programs keep to the habits
 * that the rules describe. */
#ifndef GSR_CATEGORY_H
#define GSR_CATEGORY_H

#include "report/places.h"

struct gsr_categories;

/* path: the user's file, NULL for none. NULL is returned where it cannot be read or has a line that is no rule, which
 * is said with file and line on standard error. */
struct gsr_categories *gsr_categories_new(const struct gsr_model *model, struct gsr_places *places, const char *path);
void gsr_categories_drop(struct gsr_categories *categories);

/* The text lives as long as categories. thread: kernel thread id. */
const char *gsr_category_of(struct gsr_categories *categories, uint64_t stack, uint64_t thread);

#endif
