/* See python_layout.h. */
#include "shim/stack/python_layout.h"

#include <stddef.h>
#include <sys/mman.h>

#include "shim/base/err.h"
#include "shim/base/os.h"

/* More frames than this are not checked: the first ones decide. */
#define PROOF_FRAMES_MAX 1024u
#define PROOF_NAME_CHARS_MAX 4096
#define PROOF_BYTECODE_BYTES_MAX (16 << 20)

static const struct gs_python_layout layouts[] = {
    {
	.version = 0x0309,
	.state_frame = 24,
	.frame_previous = 24,
	.frame_code = 32,
	.frame_instr = 104,
	.code_first_line = 40,
	.code_file = 104,
	.code_name = 112,
	.code_lines = 120,
	.text_ascii = 48,
	.text_wide = 72,
    },
    {
	.version = 0x030a,
	.state_frame = 24,
	.frame_previous = 24,
	.frame_code = 32,
	.frame_instr = 96,
	.code_first_line = 40,
	.code_file = 104,
	.code_name = 112,
	.code_lines = 120,
	.text_ascii = 48,
	.text_wide = 72,
    },
    {
	.version = 0x030b,
	.state_frame = 56,
	.cframe = true,
	.cframe_frame = 8,
	.frame_previous = 48,
	.frame_code = 32,
	.frame_instr = 56,
	.frame_owner = 69,
	.code_first_line = 72,
	.code_file = 112,
	.code_name = 120,
	.code_qualified_name = 128,
	.code_lines = 136,
	.code_bytecode = 184,
	.text_ascii = 48,
	.text_wide = 72,
    },
    {
	.version = 0x030c,
	.state_frame = 56,
	.cframe = true,
	.cframe_frame = 0,
	.frame_previous = 8,
	.frame_code = 0,
	.frame_instr = 56,
	.frame_owner = 70,
	.code_first_line = 68,
	.code_version = 92,
	.code_file = 112,
	.code_name = 120,
	.code_qualified_name = 128,
	.code_lines = 136,
	.code_bytecode = 192,
	.text_ascii = 40,
	.text_wide = 56,
    },
};

/* The interpreter's table for debuggers: 64-bit words, whose places differ between versions. The first of each group
 * is the size of the struct that the others lie in. */
struct debug_words {
	uint16_t version;
	uint8_t state_size, state_frame;
	uint8_t frame_size, frame_previous, frame_code, frame_instr, frame_owner;
	uint8_t code_size, code_file, code_name, code_qualified_name, code_lines, code_first_line, code_bytecode;
	uint8_t code_version; /* the offset itself, which the table does not have; 0 where it was not tried */
};

static const struct debug_words debug_tables[] = {
    {0x030d, 19, 23, 28, 29, 30, 31, 33, 34, 35, 36, 37, 38, 39, 43, 92},
    {0x030e, 22, 26, 31, 32, 33, 34, 36, 39, 40, 41, 42, 43, 44, 48, 0},
};

#define DEBUG_COOKIE "xdebugpy"
#define DEBUG_VERSION_FIRST 0x030d
#define DEBUG_VERSION_WORD 1
#define DEBUG_FREE_THREADED_WORD 2
#define DEBUG_STRUCT_BYTES_MAX 16384u

/* --- finding --- */

static unsigned number_read(const char **text)
{
	unsigned number = 0;

	while (**text >= '0' && **text <= '9')
		number = number * 10 + (unsigned)(*(*text)++ - '0');
	return number;
}

static void *symbol_find(const char *name)
{
	struct gsb_elf elf;
	void *address;

	return gsb_elf_defining(name, &elf, &address) == GS_OK ? address : NULL;
}

static uint16_t version_find(void)
{
	const char *text = symbol_find("Py_Version");
	const char *(*get_version)(void);
	unsigned major;

	if (text != NULL)
		return (uint16_t)(gs_python_word(text, 0) >> 16);
	get_version = (const char *(*)(void))symbol_find("Py_GetVersion");
	if (get_version == NULL)
		return 0;
	text = get_version();
	major = number_read(&text);
	if (*text++ != '.')
		return 0;
	return (uint16_t)(major << 8 | (number_read(&text) & 0xff));
}

/* Copies one offset; false when it does not lie in its struct. */
static bool offset_read(const uint64_t *words, unsigned size_word, unsigned word, uint16_t *ret_offset)
{
	if (words[size_word] > DEBUG_STRUCT_BYTES_MAX || words[word] >= words[size_word])
		return false;
	*ret_offset = (uint16_t)words[word];
	return true;
}

static int debug_layout(struct gs_python_layout *layout)
{
	const uint64_t *words = symbol_find("_PyRuntime");
	const struct debug_words *at = NULL;

	for (size_t table = 0; table < sizeof(debug_tables) / sizeof(debug_tables[0]); table++)
		if (debug_tables[table].version == layout->version)
			at = &debug_tables[table];
	if (words == NULL || memcmp(words, DEBUG_COOKIE, 8) != 0)
		return GS_E_UNSUPPORTED;
	layout->free_threaded = words[DEBUG_FREE_THREADED_WORD] != 0;
	if (at == NULL || words[DEBUG_VERSION_WORD] >> 16 != layout->version || layout->free_threaded)
		return GS_E_UNSUPPORTED;
	layout->code_version = at->code_version;
	layout->text_ascii = 40;
	layout->text_wide = 56;
	return offset_read(words, at->state_size, at->state_frame, &layout->state_frame) &&
		       offset_read(words, at->frame_size, at->frame_previous, &layout->frame_previous) &&
		       offset_read(words, at->frame_size, at->frame_code, &layout->frame_code) &&
		       offset_read(words, at->frame_size, at->frame_instr, &layout->frame_instr) &&
		       offset_read(words, at->frame_size, at->frame_owner, &layout->frame_owner) &&
		       offset_read(words, at->code_size, at->code_file, &layout->code_file) &&
		       offset_read(words, at->code_size, at->code_name, &layout->code_name) &&
		       offset_read(words, at->code_size, at->code_qualified_name, &layout->code_qualified_name) &&
		       offset_read(words, at->code_size, at->code_lines, &layout->code_lines) &&
		       offset_read(words, at->code_size, at->code_first_line, &layout->code_first_line) &&
		       offset_read(words, at->code_size, at->code_bytecode, &layout->code_bytecode)
		   ? GS_OK
		   : GS_E_UNSUPPORTED;
}

static int layout_choose(struct gs_python_layout *layout)
{
	for (size_t at = 0; at < sizeof(layouts) / sizeof(layouts[0]); at++) {
		if (layouts[at].version == layout->version) {
			*layout = layouts[at];
			return GS_OK;
		}
	}
	return layout->version >= DEBUG_VERSION_FIRST ? debug_layout(layout) : GS_E_UNSUPPORTED;
}

int gs_python_layout_find(struct gs_python_layout *ret_layout)
{
	struct gs_python_layout layout = {0};
	struct gsb_elf interpreter;
	void *thread_state;
	int error = gsb_elf_defining("PyGILState_GetThisThreadState", &interpreter, &thread_state);

	if (error != GS_OK)
		return error;
	layout.version = version_find();
	error = layout_choose(&layout);
	layout.interpreter = interpreter;
	layout.thread_state = (char *(*)(void))thread_state;
	layout.type_code = symbol_find("PyCode_Type");
	layout.type_text = symbol_find("PyUnicode_Type");
	layout.type_bytes = symbol_find("PyBytes_Type");
	if (layout.type_code == NULL || layout.type_text == NULL || layout.type_bytes == NULL)
		error = GS_E_UNSUPPORTED;
	*ret_layout = layout;
	return error;
}

/* --- proving --- */

/* Whether the pages of an object are mapped: a wrong layout must not crash the program. */
static bool mapped(const char *object, size_t size_bytes)
{
	uintptr_t start = (uintptr_t)object & ~(uintptr_t)(GSB_PAGE_BYTES - 1);
	uintptr_t end = (uintptr_t)object + size_bytes;
	unsigned char resident[4];

	return object != NULL && (uintptr_t)object % 4 == 0 && end - start <= sizeof(resident) * GSB_PAGE_BYTES &&
	       end > start && mincore((void *)start, end - start, resident) == 0;
}

static bool object_is(const char *object, const char *type)
{
	return mapped(object, 64) && gs_python_pointer(object, GS_PYTHON_TYPE) == type &&
	       gs_python_word(object, 0) != 0;
}

static bool text_proved(const struct gs_python_layout *layout, const char *text)
{
	uint32_t state;
	int64_t length;
	const char *chars;

	if (!object_is(text, layout->type_text))
		return false;
	state = (uint32_t)gs_python_int(text, GS_PYTHON_TEXT_STATE);
	length = gs_python_word(text, GS_PYTHON_LENGTH);
	if ((state >> 5 & 1) == 0 || length < 0 || length > PROOF_NAME_CHARS_MAX)
		return false;
	if ((state >> 6 & 1) == 0)
		return (state >> 2 & 7) == 1 || (state >> 2 & 7) == 2 || (state >> 2 & 7) == 4;
	chars = text + layout->text_ascii;
	return (state >> 2 & 7) == 1 && mapped(text, layout->text_ascii + (size_t)length + 1) &&
	       chars[length] == '\0' && memchr(chars, '\0', (size_t)length) == NULL;
}

static bool code_proved(const struct gs_python_layout *layout, const char *code)
{
	return object_is(code, layout->type_code) && mapped(code, 256) &&
	       text_proved(layout, gs_python_pointer(code, layout->code_name)) &&
	       text_proved(layout, gs_python_pointer(code, layout->code_file)) &&
	       (layout->code_qualified_name == 0 ||
		text_proved(layout, gs_python_pointer(code, layout->code_qualified_name))) &&
	       object_is(gs_python_pointer(code, layout->code_lines), layout->type_bytes) &&
	       gs_python_int(code, layout->code_first_line) >= 0;
}

static bool frame_proved(const struct gs_python_layout *layout, const char *frame)
{
	const char *code = gs_python_frame_code(layout, frame);
	int64_t instr;

	if (!code_proved(layout, code))
		return false;
	if (layout->code_bytecode == 0)
		instr = gs_python_int(frame, layout->frame_instr);
	else
		instr = gs_python_word(frame, layout->frame_instr) - (int64_t)(uintptr_t)(code + layout->code_bytecode);
	return instr >= -2 && instr < PROOF_BYTECODE_BYTES_MAX;
}

bool gs_python_layout_prove(const struct gs_python_layout *layout, const char *first)
{
	unsigned checked = 0;
	const char *frame = first;

	for (unsigned count = 0; frame != NULL && count < PROOF_FRAMES_MAX; count++) {
		if (!mapped(frame, 128))
			return false;
		if (layout->frame_owner == 0 || frame[layout->frame_owner] < GS_PYTHON_OWNER_INTERPRETER) {
			if (!frame_proved(layout, frame))
				return false;
			checked++;
		}
		frame = gs_python_pointer(frame, layout->frame_previous);
	}
	return checked > 0;
}
