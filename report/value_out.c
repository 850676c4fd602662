/* See value_out.h. */
#include "report/value_out.h"

#include <stdlib.h>
#include <string.h>

#include "report/json_text.h"

#define DEPTH_MAX 32
#define BATCH 1000 /* items of a list that are added at once: the loader passes them as arguments */
#define KEYS_MAX 64

enum opcode {
	OP_PROTO = 0x80,
	OP_STOP = '.',
	OP_MARK = '(',
	OP_EMPTY_DICT = '}',
	OP_SETITEMS = 'u',
	OP_EMPTY_LIST = ']',
	OP_APPENDS = 'e',
	OP_TUPLE2 = 0x86,
	OP_BININT = 'J',
	OP_BININT1 = 'K',
	OP_BININT2 = 'M',
	OP_LONG1 = 0x8a,
	OP_BINFLOAT = 'G',
	OP_NEWTRUE = 0x88,
	OP_NEWFALSE = 0x89,
	OP_SHORT_BINUNICODE = 0x8c,
	OP_BINUNICODE = 'X',
	OP_BINPUT = 'q',
	OP_LONG_BINPUT = 'r',
	OP_BINGET = 'h',
	OP_LONG_BINGET = 'j'
};

struct level {
	bool is_list;
	unsigned items; /* since the last mark */
};

struct gsr_value_out {
	FILE *out;
	bool is_pickle;
	unsigned depth;
	struct level levels[DEPTH_MAX];
	uint32_t memo_count;
	uint32_t *shared; /* memo + 1; 0 = not written yet */
	size_t shared_count;
	struct {
		const char *key;
		uint32_t memo;
	} keys[KEYS_MAX];
	unsigned key_count;
};

struct gsr_value_out *gsr_value_out_new(FILE *out, bool is_pickle, size_t shared_count)
{
	struct gsr_value_out *value = calloc(1, sizeof(*value));

	if (value == NULL)
		abort();
	value->out = out;
	value->is_pickle = is_pickle;
	value->shared_count = shared_count;
	value->shared = calloc(shared_count + 1, sizeof(*value->shared));
	if (value->shared == NULL)
		abort();
	if (is_pickle) {
		fputc(OP_PROTO, out);
		fputc(4, out);
	}
	return value;
}

void gsr_value_out_end(struct gsr_value_out *value)
{
	fputc(value->is_pickle ? OP_STOP : '\n', value->out);
	free(value->shared);
	free(value);
}

static void little_endian(struct gsr_value_out *value, uint64_t number, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		fputc((int)(number >> 8 * i & 0xff), value->out);
}

/* Before each item of a list; before a dictionary's key. */
static void item_begin(struct gsr_value_out *value)
{
	struct level *level = value->depth > 0 ? &value->levels[value->depth - 1] : NULL;

	if (level == NULL)
		return;
	if (!value->is_pickle) {
		if (level->items++ > 0)
			fputc(',', value->out);
		return;
	}
	if (level->items == BATCH && level->is_list) {
		fputc(OP_APPENDS, value->out);
		level->items = 0;
	}
	if (level->items++ == 0)
		fputc(OP_MARK, value->out);
}

static void value_begin(struct gsr_value_out *value)
{
	if (value->depth > 0 && value->levels[value->depth - 1].is_list)
		item_begin(value);
}

static void level_begin(struct gsr_value_out *value, bool is_list)
{
	value_begin(value);
	fputc(value->is_pickle ? (is_list ? OP_EMPTY_LIST : OP_EMPTY_DICT) : is_list ? '[' : '{', value->out);
	if (value->depth == DEPTH_MAX)
		abort();
	value->levels[value->depth++] = (struct level){.is_list = is_list};
}

static void level_end(struct gsr_value_out *value)
{
	const struct level *level = &value->levels[--value->depth];

	if (!value->is_pickle)
		fputc(level->is_list ? ']' : '}', value->out);
	else if (level->items > 0)
		fputc(level->is_list ? OP_APPENDS : OP_SETITEMS, value->out);
}

void gsr_dict_begin(struct gsr_value_out *value)
{
	level_begin(value, false);
}

void gsr_dict_end(struct gsr_value_out *value)
{
	level_end(value);
}

void gsr_list_begin(struct gsr_value_out *value)
{
	level_begin(value, true);
}

void gsr_list_end(struct gsr_value_out *value)
{
	level_end(value);
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static void pickled_number(struct gsr_value_out *value, int64_t number)
{
	if (number >= 0 && number <= 0xff) {
		fputc(OP_BININT1, value->out);
		little_endian(value, (uint64_t)number, 1);
	} else if (number >= 0 && number <= 0xffff) {
		fputc(OP_BININT2, value->out);
		little_endian(value, (uint64_t)number, 2);
	} else if (number >= INT32_MIN && number <= INT32_MAX) {
		fputc(OP_BININT, value->out);
		little_endian(value, (uint64_t)number, 4);
	} else {
		fputc(OP_LONG1, value->out);
		fputc(8, value->out);
		little_endian(value, (uint64_t)number, 8);
	}
}

void gsr_number_write(struct gsr_value_out *value, int64_t number)
{
	value_begin(value);
	if (value->is_pickle)
		pickled_number(value, number);
	else
		fprintf(value->out, "%lld", (long long)number);
}

void gsr_pair_write(struct gsr_value_out *value, int64_t first, int64_t second)
{
	value_begin(value);
	if (value->is_pickle) {
		pickled_number(value, first);
		pickled_number(value, second);
		fputc(OP_TUPLE2, value->out);
	} else {
		fprintf(value->out, "[%lld,%lld]", (long long)first, (long long)second);
	}
}

void gsr_real_write(struct gsr_value_out *value, double number)
{
	uint64_t bits;

	value_begin(value);
	if (!value->is_pickle) {
		fprintf(value->out, "%.17g", number);
		return;
	}
	memcpy(&bits, &number, sizeof(bits));
	fputc(OP_BINFLOAT, value->out);
	for (unsigned i = 8; i-- > 0;)
		fputc((int)(bits >> 8 * i & 0xff), value->out);
}

void gsr_bool_write(struct gsr_value_out *value, bool truth)
{
	value_begin(value);
	if (value->is_pickle)
		fputc(truth ? OP_NEWTRUE : OP_NEWFALSE, value->out);
	else
		fputs(truth ? "true" : "false", value->out);
}

static void pickled_text(struct gsr_value_out *value, const char *text)
{
	size_t length;
	char *clean = gsr_text_clean(text, strlen(text), &length);

	fputc(length <= 0xff ? OP_SHORT_BINUNICODE : OP_BINUNICODE, value->out);
	little_endian(value, length, length <= 0xff ? 1 : 4);
	fwrite(clean, 1, length, value->out);
	free(clean);
}

void gsr_text_write(struct gsr_value_out *value, const char *text)
{
	value_begin(value);
	if (value->is_pickle)
		pickled_text(value, text);
	else
		gsr_out_text(value->out, text);
}

/* --- what comes again -------------------------------------------------------------------------------------------- */

static uint32_t memo_put(struct gsr_value_out *value)
{
	uint32_t memo = value->memo_count++;

	fputc(memo <= 0xff ? OP_BINPUT : OP_LONG_BINPUT, value->out);
	little_endian(value, memo, memo <= 0xff ? 1 : 4);
	return memo;
}

static void memo_get(struct gsr_value_out *value, uint32_t memo)
{
	fputc(memo <= 0xff ? OP_BINGET : OP_LONG_BINGET, value->out);
	little_endian(value, memo, memo <= 0xff ? 1 : 4);
}

static void constant_write(struct gsr_value_out *value, const char *key)
{
	if (!value->is_pickle) {
		gsr_out_text(value->out, key);
		return;
	}
	for (unsigned i = 0; i < value->key_count; i++)
		if (strcmp(value->keys[i].key, key) == 0) {
			memo_get(value, value->keys[i].memo);
			return;
		}
	pickled_text(value, key);
	if (value->key_count == KEYS_MAX)
		return;
	value->keys[value->key_count].key = key;
	value->keys[value->key_count++].memo = memo_put(value);
}

void gsr_key(struct gsr_value_out *value, const char *key)
{
	item_begin(value);
	constant_write(value, key);
	if (!value->is_pickle)
		fputc(':', value->out);
}

void gsr_constant_write(struct gsr_value_out *value, const char *text)
{
	value_begin(value);
	constant_write(value, text);
}

bool gsr_shared_find(struct gsr_value_out *value, size_t shared)
{
	if (!value->is_pickle || value->shared[shared] == 0)
		return true;
	value_begin(value);
	memo_get(value, value->shared[shared] - 1);
	return false;
}

void gsr_shared_end(struct gsr_value_out *value, size_t shared)
{
	if (value->is_pickle)
		value->shared[shared] = memo_put(value) + 1;
}
