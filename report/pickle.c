/* See pickle.h. Values come from chunks that are freed together; the stack and the marks are arrays of their own. */
#include "report/pickle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_VALUES 1024

struct chunk {
	struct chunk *next;
	size_t used;
	struct gsr_value values[CHUNK_VALUES];
};

struct gsr_pickle {
	struct chunk *chunks;
	struct gsr_value **stack;
	size_t depth, stack_capacity;
	size_t *marks;
	size_t mark_count, mark_capacity;
	struct gsr_value **memo;
	size_t memo_count, memo_capacity;
	const unsigned char *at, *end;
	const char *why;
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static int fail(struct gsr_pickle *pickle, const char *why)
{
	pickle->why = why;
	return -1;
}

static struct gsr_value *value_new(struct gsr_pickle *pickle, enum gsr_value_type type)
{
	struct gsr_value *value;

	if (pickle->chunks == NULL || pickle->chunks->used == CHUNK_VALUES) {
		struct chunk *chunk = or_end(calloc(1, sizeof(*chunk)));

		chunk->next = pickle->chunks;
		pickle->chunks = chunk;
	}
	value = &pickle->chunks->values[pickle->chunks->used++];
	value->type = type;
	return value;
}

static int push(struct gsr_pickle *pickle, struct gsr_value *value)
{
	if (pickle->depth == pickle->stack_capacity) {
		pickle->stack_capacity *= 2;
		pickle->stack = or_end(realloc(pickle->stack, pickle->stack_capacity * sizeof(*pickle->stack)));
	}
	pickle->stack[pickle->depth++] = value;
	return 0;
}

static int push_number(struct gsr_pickle *pickle, int64_t number)
{
	struct gsr_value *value = value_new(pickle, GSR_VALUE_NUMBER);

	value->number = number;
	return push(pickle, value);
}

static int push_bool(struct gsr_pickle *pickle, bool truth)
{
	struct gsr_value *value = value_new(pickle, GSR_VALUE_BOOL);

	value->number = truth;
	return push(pickle, value);
}

static int mark(struct gsr_pickle *pickle)
{
	if (pickle->mark_count == pickle->mark_capacity) {
		pickle->mark_capacity = pickle->mark_capacity == 0 ? 64 : pickle->mark_capacity * 2;
		pickle->marks = or_end(realloc(pickle->marks, pickle->mark_capacity * sizeof(*pickle->marks)));
	}
	pickle->marks[pickle->mark_count++] = pickle->depth;
	return 0;
}

/* --- the bytes --------------------------------------------------------------------------------------------------- */

static int taken(struct gsr_pickle *pickle, uint64_t length, const unsigned char **ret_bytes)
{
	if ((uint64_t)(pickle->end - pickle->at) < length)
		return fail(pickle, "the file ends too early");
	*ret_bytes = pickle->at;
	pickle->at += length;
	return 0;
}

static int number_take(struct gsr_pickle *pickle, unsigned bytes, uint64_t *ret_number)
{
	const unsigned char *from;

	if (taken(pickle, bytes, &from) != 0)
		return -1;
	*ret_number = 0;
	for (unsigned i = 0; i < bytes; i++)
		*ret_number |= (uint64_t)from[i] << 8 * i;
	return 0;
}

static int text_read(struct gsr_pickle *pickle, unsigned length_bytes)
{
	struct gsr_value *value;
	const unsigned char *from;
	uint64_t length;

	if (number_take(pickle, length_bytes, &length) != 0 || taken(pickle, length, &from) != 0)
		return -1;
	value = value_new(pickle, GSR_VALUE_TEXT);
	value->text.start = (const char *)from;
	value->text.length = (size_t)length;
	return push(pickle, value);
}

/* Of longer ones the first eight bytes: no figure of a snapshot needs more. */
static int long_read(struct gsr_pickle *pickle, unsigned length_bytes)
{
	const unsigned char *from;
	uint64_t length, number = 0;

	if (number_take(pickle, length_bytes, &length) != 0 || taken(pickle, length, &from) != 0)
		return -1;
	for (uint64_t i = 0; i < 8; i++)
		number |= (uint64_t)(i < length ? from[i] : length > 0 && (from[length - 1] & 0x80) != 0 ? 0xff : 0) << 8 * i;
	return push_number(pickle, (int64_t)number);
}

static int real_read(struct gsr_pickle *pickle)
{
	struct gsr_value *value;
	const unsigned char *from;
	uint64_t bits = 0;

	if (taken(pickle, 8, &from) != 0)
		return -1;
	for (unsigned i = 0; i < 8; i++)
		bits = bits << 8 | from[i];
	value = value_new(pickle, GSR_VALUE_REAL);
	memcpy(&value->real, &bits, sizeof(bits));
	return push(pickle, value);
}

/* --- the memo ---------------------------------------------------------------------------------------------------- */

static int memo_put(struct gsr_pickle *pickle, uint64_t index)
{
	if (pickle->depth == 0)
		return fail(pickle, "nothing to remember");
	if (index >= (uint64_t)(pickle->end - pickle->at) + pickle->memo_count + (1u << 20))
		return fail(pickle, "a memo that is too large");
	if (index >= pickle->memo_capacity) {
		size_t capacity = pickle->memo_capacity == 0 ? 256 : pickle->memo_capacity;

		while (capacity <= index)
			capacity *= 2;
		pickle->memo = or_end(realloc(pickle->memo, capacity * sizeof(*pickle->memo)));
		memset(pickle->memo + pickle->memo_capacity, 0, (capacity - pickle->memo_capacity) * sizeof(*pickle->memo));
		pickle->memo_capacity = capacity;
	}
	pickle->memo[index] = pickle->stack[pickle->depth - 1];
	if (index >= pickle->memo_count)
		pickle->memo_count = index + 1;
	return 0;
}

static int memo_put_at(struct gsr_pickle *pickle, unsigned bytes)
{
	uint64_t index;

	return number_take(pickle, bytes, &index) != 0 ? -1 : memo_put(pickle, index);
}

static int memo_get(struct gsr_pickle *pickle, unsigned bytes)
{
	uint64_t index;

	if (number_take(pickle, bytes, &index) != 0)
		return -1;
	if (index >= pickle->memo_count || pickle->memo[index] == NULL)
		return fail(pickle, "a memo that was never written");
	return push(pickle, pickle->memo[index]);
}

/* --- lists ------------------------------------------------------------------------------------------------------- */

static void items_add(struct gsr_value *list, struct gsr_value *const *items, size_t count)
{
	if (list->list.capacity - list->list.count < count) {
		list->list.capacity = list->list.capacity * 2 > list->list.count + count ? list->list.capacity * 2
											  : list->list.count + count;
		list->list.items = or_end(realloc(list->list.items, list->list.capacity * sizeof(*list->list.items)));
	}
	if (count > 0)
		memcpy(list->list.items + list->list.count, items, count * sizeof(*items));
	list->list.count += count;
}

/* Makes one value of the topmost count. */
static int gather(struct gsr_pickle *pickle, enum gsr_value_type type, size_t count)
{
	struct gsr_value *value;

	if (pickle->depth < count)
		return fail(pickle, "too few values");
	if (type == GSR_VALUE_DICT && count % 2 != 0)
		return fail(pickle, "a key without a value");
	value = value_new(pickle, type);
	pickle->depth -= count;
	items_add(value, pickle->stack + pickle->depth, count);
	return push(pickle, value);
}

static int mark_take(struct gsr_pickle *pickle, size_t *ret_count)
{
	if (pickle->mark_count == 0 || pickle->marks[pickle->mark_count - 1] > pickle->depth)
		return fail(pickle, "no mark");
	*ret_count = pickle->depth - pickle->marks[--pickle->mark_count];
	return 0;
}

static int gather_marked(struct gsr_pickle *pickle, enum gsr_value_type type)
{
	size_t count;

	return mark_take(pickle, &count) != 0 ? -1 : gather(pickle, type, count);
}

/* Adds the topmost count to the list or dictionary below them. */
static int extend(struct gsr_pickle *pickle, enum gsr_value_type type, size_t count)
{
	if (pickle->depth <= count || pickle->stack[pickle->depth - count - 1]->type != type)
		return fail(pickle, type == GSR_VALUE_LIST ? "no list to add to" : "no dictionary to add to");
	if (type == GSR_VALUE_DICT && count % 2 != 0)
		return fail(pickle, "a key without a value");
	pickle->depth -= count;
	items_add(pickle->stack[pickle->depth - 1], pickle->stack + pickle->depth, count);
	return 0;
}

static int extend_marked(struct gsr_pickle *pickle, enum gsr_value_type type)
{
	size_t count;

	return mark_take(pickle, &count) != 0 ? -1 : extend(pickle, type, count);
}

/* --- opcodes ----------------------------------------------------------------------------------------------------- */

static int proto_read(struct gsr_pickle *pickle)
{
	uint64_t version;

	if (number_take(pickle, 1, &version) != 0)
		return -1;
	return version <= 5 ? 0 : fail(pickle, "a protocol that is not known");
}

static int frame_pass(struct gsr_pickle *pickle)
{
	uint64_t length;

	return number_take(pickle, 8, &length);
}

static int int_read(struct gsr_pickle *pickle, unsigned bytes)
{
	uint64_t number;

	if (number_take(pickle, bytes, &number) != 0)
		return -1;
	return push_number(pickle, bytes == 4 ? (int32_t)(uint32_t)number : (int64_t)number);
}

static int opcode_run(struct gsr_pickle *pickle, unsigned char opcode)
{
	switch (opcode) {
	case 0x80:
		return proto_read(pickle);
	case 0x95:
		return frame_pass(pickle);
	case '(':
		return mark(pickle);
	case '0':
		return pickle->depth > 0 ? (pickle->depth--, 0) : fail(pickle, "too few values");
	case '2':
		return pickle->depth > 0 ? push(pickle, pickle->stack[pickle->depth - 1]) : fail(pickle, "too few values");
	case 'N':
		return push(pickle, value_new(pickle, GSR_VALUE_NONE));
	case 0x88:
	case 0x89:
		return push_bool(pickle, opcode == 0x88);
	case 'K':
		return int_read(pickle, 1);
	case 'M':
		return int_read(pickle, 2);
	case 'J':
		return int_read(pickle, 4);
	case 0x8a:
		return long_read(pickle, 1);
	case 0x8b:
		return long_read(pickle, 4);
	case 'G':
		return real_read(pickle);
	case 0x8c: /* texts, and bytes */
	case 'U':
	case 'C':
		return text_read(pickle, 1);
	case 'X':
	case 'T':
	case 'B':
		return text_read(pickle, 4);
	case 0x8d:
	case 0x8e:
		return text_read(pickle, 8);
	case ']':
		return gather(pickle, GSR_VALUE_LIST, 0);
	case '}':
		return gather(pickle, GSR_VALUE_DICT, 0);
	case ')':
		return gather(pickle, GSR_VALUE_LIST, 0);
	case 0x85:
	case 0x86:
	case 0x87:
		return gather(pickle, GSR_VALUE_LIST, opcode - 0x84u);
	case 't':
	case 'l':
		return gather_marked(pickle, GSR_VALUE_LIST);
	case 'd':
		return gather_marked(pickle, GSR_VALUE_DICT);
	case 'a':
		return extend(pickle, GSR_VALUE_LIST, 1);
	case 'e':
		return extend_marked(pickle, GSR_VALUE_LIST);
	case 's':
		return extend(pickle, GSR_VALUE_DICT, 2);
	case 'u':
		return extend_marked(pickle, GSR_VALUE_DICT);
	case 0x94:
		return memo_put(pickle, pickle->memo_count);
	case 'q':
		return memo_put_at(pickle, 1);
	case 'r':
		return memo_put_at(pickle, 4);
	case 'h':
		return memo_get(pickle, 1);
	case 'j':
		return memo_get(pickle, 4);
	default:
		return fail(pickle, (opcode != 0 && strchr("cioRbPQ", opcode) != NULL) || opcode == 0x81 || opcode == 0x92 || opcode == 0x93
					? "it wants to run code, which no snapshot needs"
					: "an opcode that is not known");
	}
}

struct gsr_pickle *gsr_pickle_read(const char *bytes, size_t length, size_t *ret_error_at, const char **ret_why)
{
	struct gsr_pickle *pickle = or_end(calloc(1, sizeof(*pickle)));
	const unsigned char *from = (const unsigned char *)bytes, *opcode = from;

	pickle->stack = or_end(calloc(256, sizeof(*pickle->stack)));
	pickle->stack_capacity = 256;
	pickle->at = from;
	pickle->end = from + length;
	for (;;) {
		opcode = pickle->at;
		if (pickle->at == pickle->end) {
			fail(pickle, "the file ends too early");
			break;
		}
		pickle->at++;
		if (*opcode == '.') {
			if (pickle->depth == 1)
				return pickle;
			fail(pickle, "it ends with no value, or with several");
			break;
		}
		if (opcode_run(pickle, *opcode) != 0)
			break;
	}
	*ret_error_at = (size_t)(opcode - from);
	*ret_why = pickle->why;
	gsr_pickle_drop(pickle);
	return NULL;
}

void gsr_pickle_drop(struct gsr_pickle *pickle)
{
	struct chunk *next;

	for (struct chunk *chunk = pickle->chunks; chunk != NULL; chunk = next) {
		next = chunk->next;
		for (size_t i = 0; i < chunk->used; i++)
			if (chunk->values[i].type == GSR_VALUE_LIST || chunk->values[i].type == GSR_VALUE_DICT)
				free(chunk->values[i].list.items);
		free(chunk);
	}
	free(pickle->stack);
	free(pickle->marks);
	free(pickle->memo);
	free(pickle);
}

/* --- what is read ------------------------------------------------------------------------------------------------ */

const struct gsr_value *gsr_pickle_value(const struct gsr_pickle *pickle)
{
	return pickle->stack[0];
}

int gsr_value_is(const struct gsr_value *value, const char *text)
{
	return value != NULL && value->type == GSR_VALUE_TEXT && value->text.length == strlen(text) &&
	       memcmp(value->text.start, text, value->text.length) == 0;
}

const struct gsr_value *gsr_value_find(const struct gsr_value *value, const char *key)
{
	if (value == NULL || value->type != GSR_VALUE_DICT)
		return NULL;
	for (size_t i = value->list.count; i >= 2; i -= 2)
		if (gsr_value_is(value->list.items[i - 2], key))
			return value->list.items[i - 1];
	return NULL;
}

size_t gsr_value_count(const struct gsr_value *value)
{
	return value != NULL && value->type == GSR_VALUE_LIST ? value->list.count : 0;
}

uint64_t gsr_value_number(const struct gsr_value *value)
{
	return value != NULL && value->type == GSR_VALUE_NUMBER && value->number >= 0 ? (uint64_t)value->number : 0;
}
