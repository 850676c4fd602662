/* A reader of pickles that builds values and runs nothing: numbers, texts, lists, tuples, dictionaries. Opcodes that name code, or
 * make objects of it, are refused. Values may be shared, and a hostile file may make them contain themselves: follow them only as
 * deep as what is looked for lies. */
#ifndef GSR_PICKLE_H
#define GSR_PICKLE_H

#include <stddef.h>
#include <stdint.h>

enum gsr_value_type { GSR_VALUE_NONE, GSR_VALUE_BOOL, GSR_VALUE_NUMBER, GSR_VALUE_REAL, GSR_VALUE_TEXT, GSR_VALUE_LIST, GSR_VALUE_DICT };

/* A list or tuple has items; a dictionary keys and values in turn. A text lies in the input. */
struct gsr_value {
	enum gsr_value_type type;
	union {
		int64_t number;
		double real;
		struct {
			const char *start;
			size_t length;
		} text;
		struct {
			struct gsr_value **items;
			size_t count, capacity;
		} list;
	};
};

struct gsr_pickle;

/* Reads one pickle. NULL, with where and why, if it cannot. The bytes have to live as long as the values. */
struct gsr_pickle *gsr_pickle_read(const char *bytes, size_t length, size_t *ret_error_at, const char **ret_why);
void gsr_pickle_drop(struct gsr_pickle *pickle);

/* What it holds. */
const struct gsr_value *gsr_pickle_value(const struct gsr_pickle *pickle);

/* The last value of that key; NULL where there is none, or value is no dictionary or NULL. */
const struct gsr_value *gsr_value_find(const struct gsr_value *value, const char *key);

/* How many items a list has; 0 for anything else, also NULL. */
size_t gsr_value_count(const struct gsr_value *value);

/* 0 for anything that is no whole number from 0 on. */
uint64_t gsr_value_number(const struct gsr_value *value);
int gsr_value_is(const struct gsr_value *value, const char *text);

#endif
