/* Code objects as they were when first seen: names as texts of our own, and the frame for an instruction in one.
 *
 * The interpreter frees code objects and reuses their memory, so a record holds only as long as the object still
 * looks the same: same names, same file, same first line, same line table, by address and by as much of the contents
 * as is cheap to compare; and the same version number, which tells where the interpreter has one. */
#ifndef GS_STACK_PYTHON_CODE_H
#define GS_STACK_PYTHON_CODE_H

#include "shim/stack/python_layout.h"

struct gs_python_code {
	const char *object;
	const char *name, *qualified_name, *file, *lines; /* addresses of its members */
	int64_t name_hash;
	int64_t lines_length;
	uint64_t lines_first, lines_last; /* the ends of the line table */
	int32_t first_line;
	uint32_t version; /* 0 = it has none */
	uint32_t function_text, file_text; /* of shim/stack/intern.h */
};

static inline uint32_t gs_python_code_version(const struct gs_python_layout *layout, const char *object)
{
	return layout->code_version == 0 ? 0 : (uint32_t)gs_python_int(object, layout->code_version);
}

/* Fills in everything but the texts. */
static inline void gs_python_code_look(const struct gs_python_layout *layout, const char *object,
				       struct gs_python_code *ret_code)
{
	ret_code->object = object;
	ret_code->name = gs_python_pointer(object, layout->code_name);
	ret_code->qualified_name =
	    layout->code_qualified_name == 0 ? NULL : gs_python_pointer(object, layout->code_qualified_name);
	ret_code->file = gs_python_pointer(object, layout->code_file);
	ret_code->lines = gs_python_pointer(object, layout->code_lines);
	ret_code->first_line = gs_python_int(object, layout->code_first_line);
	ret_code->version = gs_python_code_version(layout, object);
	ret_code->name_hash = gs_python_word(ret_code->name, GS_PYTHON_TEXT_HASH);
	ret_code->lines_length = gs_python_word(ret_code->lines, GS_PYTHON_LENGTH);
	/* The object is aligned, so these 8 bytes lie in a page of it even if they are more than it has. */
	ret_code->lines_first = (uint64_t)gs_python_word(ret_code->lines, GS_PYTHON_BYTES_DATA);
	ret_code->lines_last = 0;
	if (ret_code->lines_length >= 8)
		memcpy(&ret_code->lines_last, ret_code->lines + GS_PYTHON_BYTES_DATA + ret_code->lines_length - 8, 8);
	else
		ret_code->lines_first &= ((uint64_t)1 << 8 * (unsigned)ret_code->lines_length) - 1;
}

static inline bool gs_python_code_same(const struct gs_python_code *a, const struct gs_python_code *b)
{
	return a->object == b->object && a->version == b->version && a->name == b->name && a->qualified_name == b->qualified_name &&
	       a->file == b->file && a->lines == b->lines && a->first_line == b->first_line &&
	       a->name_hash == b->name_hash && a->lines_length == b->lines_length && a->lines_first == b->lines_first &&
	       a->lines_last == b->lines_last;
}

/* Whether code still describes its object, which a frame of the calling thread holds. */
static inline bool gs_python_code_holds(const struct gs_python_layout *layout, const struct gs_python_code *code)
{
	struct gs_python_code now;

	if (code->version != 0)
		return gs_python_code_version(layout, code->object) == code->version &&
		       gs_python_pointer(code->object, layout->code_lines) == code->lines &&
		       gs_python_int(code->object, layout->code_first_line) == code->first_line;
	gs_python_code_look(layout, code->object, &now);
	return gs_python_code_same(&now, code);
}

/* The frame for an instruction: an offset or an address, as the frame holds it. object is a code object that a frame
 * of the calling thread holds. On success ret_code is the record, which stays. */
int gs_python_code_frame(const struct gs_python_layout *layout, const char *object, int64_t instr,
			 const struct gs_python_code **ret_code, uint32_t *ret_frame);

/* The line of an instruction, offset in bytes; 0 = it has none. */
uint32_t gs_python_code_line(const struct gs_python_layout *layout, const char *object, int64_t offset_bytes);

#endif
