/* See python_code.h. */
#include "shim/stack/python_code.h"

#include "shim/base/err.h"
#include "shim/stack/intern.h"
#include "shim/stack/table.h"

/* A text that is not all ASCII is cut here. */
#define TEXT_BYTES_MAX 4096u

/* An instruction in a code object, and the frame that it is. */
struct place {
	uint32_t code; /* number in codes */
	uint32_t frame;
	int64_t instr;
};

static struct gs_table codes = GS_TABLE_INIT(struct gs_python_code, 1u << 18);
static struct gs_table places = GS_TABLE_INIT(struct place, 1u << 18);

/* --- texts --- */

static size_t utf8_put(char *at, uint32_t character)
{
	if (character < 0x80) {
		at[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		at[0] = (char)(0xc0 | character >> 6);
		at[1] = (char)(0x80 | (character & 63));
		return 2;
	}
	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd; /* half of a surrogate pair stands for an undecodable byte */
	if (character < 0x10000) {
		at[0] = (char)(0xe0 | character >> 12);
		at[1] = (char)(0x80 | (character >> 6 & 63));
		at[2] = (char)(0x80 | (character & 63));
		return 3;
	}
	at[0] = (char)(0xf0 | character >> 18);
	at[1] = (char)(0x80 | (character >> 12 & 63));
	at[2] = (char)(0x80 | (character >> 6 & 63));
	at[3] = (char)(0x80 | (character & 63));
	return 4;
}

static uint32_t text_intern(const struct gs_python_layout *layout, const char *text)
{
	uint32_t state = (uint32_t)gs_python_int(text, GS_PYTHON_TEXT_STATE), width = state >> 2 & 7;
	int64_t length = gs_python_word(text, GS_PYTHON_LENGTH);
	const char *chars = text + layout->text_wide;
	char utf8[TEXT_BYTES_MAX + 4];
	size_t size_bytes = 0;

	if (gs_python_pointer(text, GS_PYTHON_TYPE) != layout->type_text || (state >> 5 & 1) == 0 || length < 0)
		return gs_string_intern("?");
	if ((state >> 6 & 1) != 0)
		return gs_string_intern_bytes(text + layout->text_ascii, (size_t)length);
	for (int64_t at = 0; at < length && size_bytes <= TEXT_BYTES_MAX - 4; at++) {
		uint32_t character = 0;

		memcpy(&character, chars + at * width, width & 4 ? 4 : width); /* little-endian */
		size_bytes += utf8_put(utf8 + size_bytes, character);
	}
	return gs_string_intern_bytes(utf8, size_bytes);
}

/* --- code objects and places --- */

static bool code_same(const void *item, const void *key)
{
	return gs_python_code_same(item, key);
}

static bool place_same(const void *item, const void *key)
{
	const struct place *place = item, *wanted = key;

	return place->code == wanted->code && place->instr == wanted->instr;
}

static int code_intern(const struct gs_python_layout *layout, const char *object, uint32_t *ret_number)
{
	struct gs_python_code code;
	uint32_t hash;

	if (gs_python_pointer(object, GS_PYTHON_TYPE) != layout->type_code)
		return GS_E_INVALID;
	gs_python_code_look(layout, object, &code);
	hash = gs_hash((uint64_t)(uintptr_t)object, (uint64_t)code.name_hash ^ (uint64_t)code.first_line);
	if (gs_table_find(&codes, hash, code_same, &code, ret_number))
		return GS_OK;
	code.function_text = text_intern(layout, code.qualified_name != NULL ? code.qualified_name : code.name);
	code.file_text = text_intern(layout, code.file);
	return gs_table_intern(&codes, hash, code_same, &code, ret_number);
}

static int64_t instr_offset(const struct gs_python_layout *layout, const char *object, int64_t instr)
{
	if (layout->code_bytecode != 0)
		return instr - (int64_t)(uintptr_t)(object + layout->code_bytecode);
	return layout->version == 0x030a ? instr * 2 : instr;
}

int gs_python_code_frame(const struct gs_python_layout *layout, const char *object, int64_t instr,
			 const struct gs_python_code **ret_code, uint32_t *ret_frame)
{
	const struct gs_python_code *code;
	struct gs_frame frame = {.kind = GS_FRAME_PYTHON};
	struct place place = {.instr = instr};
	uint32_t hash, number;
	int error = code_intern(layout, object, &place.code);

	if (error != GS_OK)
		return error;
	code = gs_table_at(&codes, place.code);
	hash = gs_hash(place.code, (uint64_t)instr);
	if (!gs_table_find(&places, hash, place_same, &place, &number)) {
		frame.function = code->function_text;
		frame.file = code->file_text;
		frame.line = gs_python_code_line(layout, object, instr_offset(layout, object, instr));
		error = gs_frame_intern(&frame, &place.frame);
		if (error == GS_OK)
			error = gs_table_intern(&places, hash, place_same, &place, &number);
		if (error != GS_OK)
			return error;
	}
	*ret_code = code;
	*ret_frame = ((const struct place *)gs_table_at(&places, number))->frame;
	return GS_OK;
}
