/* The parser of GPUSHIM_ALLOC_CONF: see conf.h for who calls it and conf.def for the rows.
 *
 * The text is never copied or changed: a pair, its key and its value are spans of it. A value is written to the
 * settings only when the whole of it is right, so a bad pair leaves what was there. */
#include "shim/core/conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/hot.h"
#include "shim/base/log.h"
#include "shim/base/span.h"
#include "shim/base/text.h"

#define CONF_VARIABLE "GPUSHIM_ALLOC_CONF"
#define CONF_EXIT_STRICT 78 /* EX_CONFIG of sysexits.h */
#define CONF_EVERY_MAX_S 86400

enum row_type { ROW_U64, ROW_SIZE, ROW_DOUBLE, ROW_BOOL, ROW_ENUM, ROW_FLAGS, ROW_PATH };

struct conf_row {
	const char *name;
	enum row_type type;
	size_t offset;       /* of the field in struct gs_conf */
	size_t every_offset; /* ROW_FLAGS: of the seconds of every=SECONDS */
	const char *values;  /* ROW_ENUM and ROW_FLAGS, as in conf.def */
	uint64_t min, max;   /* ROW_U64 and ROW_SIZE */
	double min_share, max_share;
	const char *share_range; /* ROW_DOUBLE, as written in conf.def */
	const char *help;
};

static const struct gs_conf conf_defaults = {
#define GS_CONF_U64(name, initial, min, max, help) .name = initial,
#define GS_CONF_SIZE(name, initial, min, max, help) .name = initial,
#define GS_CONF_DOUBLE(name, initial, min, max, help) .name = initial,
#define GS_CONF_BOOL(name, initial, help) .name = initial,
#define GS_CONF_ENUM(name, initial, values, help) .name = initial,
#define GS_CONF_FLAGS(name, initial, values, help) .name = initial,
#define GS_CONF_PATH(name, initial, help) .name = initial,
#include "shim/core/conf.def"
};

static const struct conf_row conf_rows[] = {
#define ROW(field, row_type, row_help)                                                                                 \
	.name = #field, .type = row_type, .offset = offsetof(struct gs_conf, field), .help = row_help
#define GS_CONF_U64(name, initial, low, high, help) {ROW(name, ROW_U64, help), .min = low, .max = high},
#define GS_CONF_SIZE(name, initial, low, high, help) {ROW(name, ROW_SIZE, help), .min = low, .max = high},
#define GS_CONF_DOUBLE(name, initial, low, high, help)                                                                 \
	{ROW(name, ROW_DOUBLE, help), .min_share = low, .max_share = high, .share_range = #low ".." #high},
#define GS_CONF_BOOL(name, initial, help) {ROW(name, ROW_BOOL, help)},
#define GS_CONF_ENUM(name, initial, allowed, help) {ROW(name, ROW_ENUM, help), .values = allowed},
#define GS_CONF_FLAGS(name, initial, allowed, help)                                                                    \
	{ROW(name, ROW_FLAGS, help), .values = allowed, .every_offset = offsetof(struct gs_conf, name##_every_s)},
#define GS_CONF_PATH(name, initial, help) {ROW(name, ROW_PATH, help)},
#include "shim/core/conf.def"
#undef ROW
};

#define CONF_ROW_COUNT (sizeof(conf_rows) / sizeof(conf_rows[0]))

GSB_HOT struct gs_conf gs_conf;

/* The next pair that is not empty, trimmed. A comma inside brackets does not end a pair: PyTorch writes lists so. */
static bool pair_next(const char **at, struct gsb_span *ret_pair)
{
	while (**at != '\0') {
		const char *end = *at;

		for (; *end != '\0' && *end != ','; end++) {
			const char *close = *end == '[' ? strchr(end, ']') : NULL;

			if (close != NULL)
				end = close;
		}
		*ret_pair = gsb_span_trim((struct gsb_span){*at, (size_t)(end - *at)});
		*at = *end == ',' ? end + 1 : end;
		if (ret_pair->length > 0)
			return true;
	}
	return false;
}

/* --- values of a row: "name=alias|name#number|name" --- */

struct value_walk {
	struct gsb_span rest;
	struct gsb_span names; /* name, =alias ... of the current value */
	unsigned long next;    /* number of the value after it, unless that one brings its own */
};

static bool value_next(struct value_walk *walk, struct gsb_span *ret_name, unsigned *ret_number)
{
	struct gsb_span number;

	if (walk->rest.length == 0)
		return false;
	gsb_span_cut(walk->rest, '|', &walk->names, &walk->rest);
	if (gsb_span_cut(walk->names, '#', &walk->names, &number))
		walk->next = strtoul(number.start, NULL, 10);
	*ret_number = (unsigned)walk->next++;
	gsb_span_cut(walk->names, '=', ret_name, &number);
	return true;
}

/* The number of the value that wanted names, by an alias too. Every name is offered to nearest. */
static bool value_find(const char *values, struct gsb_span wanted, unsigned *ret_number, struct gsb_nearest *nearest)
{
	struct value_walk walk = {.rest = gsb_span_of(values)};
	struct gsb_span name;
	unsigned number;

	while (value_next(&walk, &name, &number)) {
		for (struct gsb_span rest = walk.names; rest.length > 0;) {
			gsb_span_cut(rest, '=', &name, &rest);
			gsb_nearest_offer(nearest, name);
			if (gsb_span_equal(name, wanted)) {
				*ret_number = number;
				return true;
			}
		}
	}
	return false;
}

static void values_show(struct gsb_text *text, const char *values)
{
	struct value_walk walk = {.rest = gsb_span_of(values)};
	struct gsb_span name;
	unsigned number;

	for (const char *between = ""; value_next(&walk, &name, &number); between = "|") {
		gsb_text_add(text, "%s", between);
		gsb_span_add(text, name);
	}
}

static bool bool_read(struct gsb_span value, bool *ret_bool)
{
	static const char *const words[] = {"False", "True", "false", "true", "0", "1", "off", "on"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (gsb_span_is(value, words[i])) {
			*ret_bool = i % 2 == 1;
			return true;
		}
	}
	return false;
}

/* A number as a user would write it: a size with the largest suffix that keeps it whole. */
static void number_show(struct gsb_text *text, const struct conf_row *row, uint64_t number)
{
	static const char *const suffixes[] = {"", "K", "M", "G", "T"};
	unsigned unit = 0;

	for (; row->type == ROW_SIZE && unit < 4 && number != 0 && number % 1024 == 0; unit++)
		number /= 1024;
	gsb_text_add(text, "%llu%s", (unsigned long long)number, suffixes[unit]);
}

static void range_show(struct gsb_text *text, const struct conf_row *row)
{
	if (row->type == ROW_DOUBLE) {
		gsb_text_add(text, "%s", row->share_range);
		return;
	}
	number_show(text, row, row->min);
	gsb_text_add(text, "..");
	number_show(text, row, row->max);
}

/* --- one value into its field; false with the reason in why, and then nothing was written --- */

static bool set_number(const struct conf_row *row, struct gsb_span value, void *field, struct gsb_text *why)
{
	uint64_t number = 0;
	double share = 0;
	bool inside = false;
	const char *wanted = NULL;
	enum gsb_number result = GSB_NUMBER_JUNK;

	switch (row->type) {
	case ROW_DOUBLE:
		wanted = "not a number such as 0.8";
		result = gsb_span_read_share(value, &share);
		inside = share >= row->min_share && share <= row->max_share;
		break;
	case ROW_SIZE:
		wanted = "not a size such as 4096, 512M or 2GiB";
		result = gsb_span_read_size(value, &number);
		inside = number >= row->min && number <= row->max;
		break;
	default:
		wanted = "not a whole number";
		result = gsb_span_read_number(value, &number);
		inside = number >= row->min && number <= row->max;
		break;
	}
	if (result == GSB_NUMBER_JUNK) {
		gsb_text_add(why, "%s", wanted);
		return false;
	}
	if (result == GSB_NUMBER_OUT_OF_RANGE || !inside) {
		gsb_text_add(why, "outside the range ");
		range_show(why, row);
		return false;
	}
	if (row->type == ROW_DOUBLE)
		*(double *)field = share;
	else
		*(uint64_t *)field = number;
	return true;
}

static bool set_bool(struct gsb_span value, void *field, struct gsb_text *why)
{
	if (bool_read(value, field))
		return true;
	gsb_text_add(why, "neither True nor False");
	return false;
}

static bool set_enum(const struct conf_row *row, struct gsb_span value, void *field, struct gsb_text *why)
{
	struct gsb_nearest nearest = {.wanted = value};

	if (value_find(row->values, value, field, &nearest))
		return true;
	if (strcmp(row->name, "backend") == 0 && gsb_span_is(value, "cudaMallocAsync")) {
		gsb_text_add(why,
			     "this one belongs to PyTorch; it goes into PYTORCH_ALLOC_CONF, or use torch:serve here");
		return false;
	}
	gsb_text_add(why, "not one of ");
	values_show(why, row->values);
	gsb_text_add(why, "; the nearest is ");
	gsb_span_quote(why, nearest.best);
	return false;
}

/* off, or a list joined by + of the row's names and every=SECONDS. */
static bool set_flags(const struct conf_row *row, struct gsb_span value, unsigned *flags_field, uint64_t *every_field,
		      struct gsb_text *why)
{
	unsigned flags = 0, bit;
	uint64_t every_s = 0;
	bool more = !gsb_span_is(value, "off");

	while (more) {
		struct gsb_span part, name, seconds;
		struct gsb_nearest nearest;

		more = gsb_span_cut(value, '+', &part, &value);
		part = gsb_span_trim(part);
		nearest = (struct gsb_nearest){.wanted = part};
		if (gsb_span_cut(part, '=', &name, &seconds) && gsb_span_is(name, "every")) {
			if (gsb_span_read_number(seconds, &every_s) == GSB_NUMBER_FINE && every_s >= 1 &&
			    every_s <= CONF_EVERY_MAX_S)
				continue;
			gsb_text_add(why, "every= wants seconds, 1..%u", CONF_EVERY_MAX_S);
			return false;
		}
		if (gsb_span_is(part, "off")) {
			gsb_text_add(why, "off stands alone");
			return false;
		}
		if (!value_find(row->values, part, &bit, &nearest)) {
			gsb_nearest_offer(&nearest, gsb_span_of("off"));
			gsb_nearest_offer(&nearest, gsb_span_of("every=SECONDS"));
			gsb_span_quote(why, part);
			gsb_text_add(why, " is not one of ");
			values_show(why, row->values);
			gsb_text_add(why, "|every=SECONDS joined by +, or off; the nearest is ");
			gsb_span_quote(why, nearest.best);
			return false;
		}
		flags |= 1u << bit;
	}
	*flags_field = flags;
	*every_field = every_s;
	return true;
}

static bool set_path(struct gsb_span value, char *field, struct gsb_text *why)
{
	if (value.length >= GS_CONF_PATH_BYTES) {
		gsb_text_add(why, "longer than %u bytes", GS_CONF_PATH_BYTES - 1);
		return false;
	}
	memcpy(field, value.start, value.length);
	field[value.length] = '\0';
	return true;
}

static bool row_set(const struct conf_row *row, struct gsb_span value, struct gs_conf *conf, struct gsb_text *why)
{
	void *field = (char *)conf + row->offset;

	if (value.length == 0) {
		gsb_text_add(why, "the value is missing");
		return false;
	}
	switch (row->type) {
	case ROW_U64:
	case ROW_SIZE:
	case ROW_DOUBLE:
		return set_number(row, value, field, why);
	case ROW_BOOL:
		return set_bool(value, field, why);
	case ROW_ENUM:
		return set_enum(row, value, field, why);
	case ROW_FLAGS:
		return set_flags(row, value, field, (uint64_t *)((char *)conf + row->every_offset), why);
	case ROW_PATH:
		return set_path(value, field, why);
	}
	return false;
}

static const struct conf_row *row_find(struct gsb_span key, struct gsb_nearest *nearest)
{
	for (size_t i = 0; i < CONF_ROW_COUNT; i++) {
		if (gsb_span_is(key, conf_rows[i].name))
			return &conf_rows[i];
		gsb_nearest_offer(nearest, gsb_span_of(conf_rows[i].name));
	}
	return NULL;
}

static bool pair_set(struct gsb_span pair, struct gs_conf *conf, struct gsb_text *why)
{
	struct gsb_nearest nearest;
	struct gsb_span key, value;
	const struct conf_row *row;

	if (!gsb_span_cut(pair, ':', &key, &value)) {
		gsb_text_add(why, "not of the form key:value");
		return false;
	}
	key = gsb_span_trim(key);
	nearest = (struct gsb_nearest){.wanted = key};
	row = row_find(key, &nearest);
	if (row != NULL)
		return row_set(row, gsb_span_trim(value), conf, why);
	gsb_text_add(why, "no such key; the nearest is ");
	gsb_span_quote(why, nearest.best);
	return false;
}

/* --- public --- */

void gs_conf_init(struct gs_conf *conf)
{
	*conf = conf_defaults;
}

unsigned gs_conf_parse(const char *text, struct gs_conf *conf, void (*complain)(void *user, const char *line),
		       void *user)
{
	struct gsb_span pair;
	unsigned bad_count = 0;

	for (unsigned position = 1; text != NULL && pair_next(&text, &pair); position++) {
		char why_bytes[GSB_LOG_LINE_BYTES / 2], line_bytes[GSB_LOG_LINE_BYTES - 16];
		struct gsb_text why, line;

		gsb_text_init(&why, why_bytes, sizeof(why_bytes));
		if (pair_set(pair, conf, &why))
			continue;
		bad_count++;
		gsb_text_init(&line, line_bytes, sizeof(line_bytes));
		gsb_text_add(&line, CONF_VARIABLE ": pair %u, ", position);
		gsb_span_quote(&line, pair);
		gsb_text_add(&line, ", is ignored: %s", why_bytes);
		complain(user, line_bytes);
	}
	return bad_count;
}

static void complain_aloud(void *user, const char *line)
{
	(void)user;
	gsb_log_always("%s", line);
}

void gs_conf_load(void)
{
	unsigned bad_count;

	gs_conf_init(&gs_conf);
	bad_count = gs_conf_parse(getenv(CONF_VARIABLE), &gs_conf, complain_aloud, NULL);
	gsb_log_set_level((enum gsb_log_level)gs_conf.log);
	if (bad_count > 0 && gs_conf.strict) {
		gsb_log_always(CONF_VARIABLE ": strict:True and %u bad, so the process ends with status %d", bad_count,
			       CONF_EXIT_STRICT);
		/* Not exit(): its handlers may call CUDA, which is just being started. */
		_exit(CONF_EXIT_STRICT);
	}
}

enum gs_conf_torch gs_conf_peek_torch(const char *text)
{
	unsigned torch = conf_defaults.torch;
	struct gsb_nearest unused = {.best = {NULL, 0}};
	const struct conf_row *row = row_find(gsb_span_of("torch"), &unused);
	struct gsb_span pair, key, value;

	while (text != NULL && pair_next(&text, &pair)) {
		if (gsb_span_cut(pair, ':', &key, &value) && gsb_span_is(gsb_span_trim(key), row->name))
			value_find(row->values, gsb_span_trim(value), &torch, &unused);
	}
	return (enum gs_conf_torch)torch;
}

/* At most six decimals, at least one. */
static void share_show(struct gsb_text *text, double share)
{
	unsigned long long millionths = (unsigned long long)(share * 1e6 + 0.5), fraction = millionths % 1000000;
	int width = 6;

	for (; width > 1 && fraction % 10 == 0; width--)
		fraction /= 10;
	gsb_text_add(text, "%llu.", millionths / 1000000);
	for (unsigned long long scale = 10; --width > 0; scale *= 10)
		gsb_text_add(text, fraction < scale ? "0" : "");
	gsb_text_add(text, "%llu", fraction);
}

static void value_show(struct gsb_text *text, const struct conf_row *row, const struct gs_conf *conf)
{
	const void *field = (const char *)conf + row->offset;
	struct value_walk walk = {.rest = row->values != NULL ? gsb_span_of(row->values) : (struct gsb_span){NULL, 0}};
	const char *between = "";
	struct gsb_span name;
	unsigned number;
	uint64_t every_s;

	switch (row->type) {
	case ROW_U64:
	case ROW_SIZE:
		number_show(text, row, *(const uint64_t *)field);
		break;
	case ROW_DOUBLE:
		share_show(text, *(const double *)field);
		break;
	case ROW_BOOL:
		gsb_text_add(text, *(const bool *)field ? "True" : "False");
		break;
	case ROW_ENUM:
		while (value_next(&walk, &name, &number)) {
			if (number == *(const unsigned *)field)
				gsb_span_add(text, name);
		}
		break;
	case ROW_FLAGS:
		every_s = *(const uint64_t *)((const char *)conf + row->every_offset);
		while (value_next(&walk, &name, &number)) {
			if ((*(const unsigned *)field >> number & 1) == 0)
				continue;
			gsb_text_add(text, "%s", between);
			gsb_span_add(text, name);
			between = "+";
		}
		if (every_s > 0)
			gsb_text_add(text, "%severy=%llu", between, (unsigned long long)every_s);
		else if (between[0] == '\0')
			gsb_text_add(text, "off");
		break;
	case ROW_PATH:
		gsb_text_add(text, "%s", (const char *)field);
		break;
	}
}

void gs_conf_value_add(struct gsb_text *text, const struct gs_conf *conf, const char *name)
{
	struct gsb_nearest unused = {.best = {NULL, 0}};
	const struct conf_row *row = row_find(gsb_span_of(name), &unused);

	gsb_assert(row != NULL);
	value_show(text, row, conf);
}

void gs_conf_rows(void (*visit)(void *user, const char *name, const char *type, const char *values, const char *initial,
				const char *help),
		  void *user)
{
	static const char *const types[] = {
	    [ROW_U64] = "number",	  [ROW_SIZE] = "size",	 [ROW_DOUBLE] = "number",
	    [ROW_BOOL] = "True or False", [ROW_ENUM] = "one of", [ROW_FLAGS] = "list of (joined by +)",
	    [ROW_PATH] = "path",
	};

	for (const struct conf_row *row = conf_rows; row < conf_rows + CONF_ROW_COUNT; row++) {
		char values_bytes[128], initial_bytes[64];
		struct gsb_text values, initial;

		gsb_text_init(&values, values_bytes, sizeof(values_bytes));
		gsb_text_init(&initial, initial_bytes, sizeof(initial_bytes));
		if (row->values != NULL)
			values_show(&values, row->values);
		else if (row->type != ROW_BOOL && row->type != ROW_PATH)
			range_show(&values, row);
		if (row->type == ROW_FLAGS)
			gsb_text_add(&values, "|every=SECONDS");
		value_show(&initial, row, &conf_defaults);
		visit(user, row->name, types[row->type], values_bytes, initial_bytes, row->help);
	}
}
