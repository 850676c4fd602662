/* See intern.h and stack.h. Number 0 of each table stands for nothing: the text "", no frame, the root, no module. It
 * is not stored: item n of a table has the number n + 1, so that the tables need no set-up. */
#include "shim/stack/intern.h"

#include <string.h>

#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/os.h"
#include "shim/stack/table.h"

#define TEXT_REFILL_BYTES (64u << 10)
#define TEXT_LIMIT_BYTES (64u << 20) /* all texts together */

_Static_assert(GS_STRING_BYTES_MAX < TEXT_REFILL_BYTES, "a text fits into one refill");

struct string {
	const char *bytes; /* zero-terminated, never moves */
	size_t length;
};

struct node {
	uint32_t parent;
	uint32_t frame;
};

static struct gs_table strings = GS_TABLE_INIT(struct string, 1u << 18);
static struct gs_table frames = GS_TABLE_INIT(struct gs_frame, 1u << 18);
static struct gs_table nodes = GS_TABLE_INIT(struct node, 1u << 20);
static struct gs_table modules = GS_TABLE_INIT(struct gs_module, GS_MODULES_MAX);

/* Where the next text goes. Guarded by the STACK lock. */
static char *text_next;
static size_t text_left_bytes;
static size_t text_total_bytes;

/* --- strings --- */

static bool string_same(const void *item, const void *key)
{
	const struct string *string = item, *wanted = key;

	return string->length == wanted->length && memcmp(string->bytes, wanted->bytes, wanted->length) == 0;
}

static uint32_t string_hash(const char *bytes, size_t length)
{
	uint64_t hash = length, word;

	for (; length >= sizeof(word); length -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, length);
	return gs_hash(hash, word);
}

static char *text_take(size_t size_bytes)
{
	char *text;

	if (size_bytes > text_left_bytes) {
		if (text_total_bytes + TEXT_REFILL_BYTES > TEXT_LIMIT_BYTES || gsb_fault(GSB_FAULT_STACK))
			return NULL;
		text = gsb_os_pages_map(TEXT_REFILL_BYTES);
		if (text == NULL)
			return NULL;
		text_next = text;
		text_left_bytes = TEXT_REFILL_BYTES;
		text_total_bytes += TEXT_REFILL_BYTES;
	}
	text = text_next;
	text_next += size_bytes;
	text_left_bytes -= size_bytes;
	return text;
}

static int string_add(uint32_t hash, const struct string *wanted, uint32_t *ret_number)
{
	char *text = text_take(wanted->length + 1);
	struct string string = {.bytes = text, .length = wanted->length};
	int error;

	if (text == NULL)
		return GS_E_NO_HOST_MEMORY;
	memcpy(text, wanted->bytes, wanted->length);
	text[wanted->length] = '\0';
	error = gs_table_add(&strings, hash, &string, ret_number);
	if (error != GS_OK) {
		text_next -= wanted->length + 1;
		text_left_bytes += wanted->length + 1;
	}
	return error;
}

uint32_t gs_string_intern_bytes(const char *bytes, size_t length)
{
	struct string wanted = {.bytes = bytes, .length = length};
	uint32_t hash, number;
	int error = GS_OK;

	if (wanted.length > GS_STRING_BYTES_MAX) {
		wanted.length = GS_STRING_BYTES_MAX;
		while (wanted.length > 0 && ((unsigned char)bytes[wanted.length] & 0xc0) == 0x80)
			wanted.length--;
	}
	if (wanted.length == 0)
		return 0;
	hash = string_hash(wanted.bytes, wanted.length);
	if (!gs_table_find(&strings, hash, string_same, &wanted, &number)) {
		gs_table_lock();
		if (!gs_table_find(&strings, hash, string_same, &wanted, &number))
			error = string_add(hash, &wanted, &number);
		gs_table_unlock();
	}
	return error == GS_OK ? number + 1 : 0;
}

uint32_t gs_string_intern(const char *text)
{
	return gs_string_intern_bytes(text, strlen(text));
}

/* --- frames, nodes, modules --- */

static bool frame_same(const void *item, const void *key)
{
	const struct gs_frame *frame = item, *wanted = key;

	return frame->kind == wanted->kind && frame->function == wanted->function && frame->file == wanted->file &&
	       frame->line == wanted->line && frame->offset == wanted->offset;
}

static bool node_same(const void *item, const void *key)
{
	return memcmp(item, key, sizeof(struct node)) == 0;
}

int gs_frame_intern(const struct gs_frame *frame, uint32_t *ret_frame)
{
	uint32_t hash = gs_hash((uint64_t)frame->function << 32 | frame->file,
				frame->offset ^ (uint64_t)frame->line << 32 ^ (uint64_t)frame->kind << 62);

	uint32_t number = 0;
	int error = gs_table_intern(&frames, hash, frame_same, frame, &number);

	if (error == GS_OK)
		*ret_frame = number + 1;
	return error;
}

int gs_node_intern(uint32_t parent, uint32_t frame, uint32_t *ret_node)
{
	struct node node = {.parent = parent, .frame = frame};
	uint32_t number = 0;
	int error = gs_table_intern(&nodes, gs_hash(parent, frame), node_same, &node, &number);

	if (error == GS_OK)
		*ret_node = number + 1;
	return error;
}

int gs_module_add(const struct gs_module *module, uint32_t *ret_module)
{
	uint32_t number = 0;
	int error;

	gs_table_lock();
	error = gs_table_add(&modules, gs_hash(module->base, module->path), module, &number);
	gs_table_unlock();
	if (error == GS_OK)
		*ret_module = number + 1;
	return error;
}

/* --- reading --- */

size_t gs_stack_count(void)
{
	return (size_t)gs_table_count(&nodes) + 1;
}

size_t gs_frame_count(void)
{
	return (size_t)gs_table_count(&frames) + 1;
}

size_t gs_string_count(void)
{
	return (size_t)gs_table_count(&strings) + 1;
}

size_t gs_module_count(void)
{
	return (size_t)gs_table_count(&modules) + 1;
}

void gs_stack_read(uint32_t stack, uint32_t *ret_parent, uint32_t *ret_frame)
{
	static const struct node root;
	const struct node *node = stack == 0 ? &root : gs_table_at(&nodes, stack - 1);

	*ret_parent = node->parent;
	*ret_frame = node->frame;
}

void gs_frame_read(uint32_t frame, struct gs_frame *ret_frame)
{
	static const struct gs_frame none;

	*ret_frame = frame == 0 ? none : *(const struct gs_frame *)gs_table_at(&frames, frame - 1);
}

const char *gs_string_read(uint32_t string)
{
	return string == 0 ? "" : ((const struct string *)gs_table_at(&strings, string - 1))->bytes;
}

void gs_module_read(uint32_t module, struct gs_module *ret_module)
{
	static const struct gs_module none;

	*ret_module = module == 0 ? none : *(const struct gs_module *)gs_table_at(&modules, module - 1);
}
