/* Where the interpreter of this process keeps what a stack needs: offsets into its thread states, frames, code objects
 * and texts. From a table for CPython 3.9 to 3.12; read from the interpreter's own table for debuggers
 * (_Py_DebugOffsets) for 3.13 and 3.14. Any other version, and free-threaded builds, are refused. A layout is believed
 * only after the first stack has been checked against what must hold if it is right. */
#ifndef GS_STACK_PYTHON_LAYOUT_H
#define GS_STACK_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/elf.h"

struct gs_python_layout {
	uint16_t version;     /* major << 8 | minor */
	uint16_t state_frame; /* thread state: innermost frame, or with cframe the C frame that points to it */
	bool cframe;
	uint16_t cframe_frame;
	uint16_t frame_previous;
	uint16_t frame_code;  /* its lowest two bits are no part of the pointer */
	uint16_t frame_instr; /* an int with code_bytecode 0, else a pointer into the bytecode */
	uint16_t frame_owner; /* one byte; 0 = there is none */
	uint16_t code_first_line;
	uint16_t code_version; /* a number that no other code object ever gets, 0 once they have run out; 0 = there is none */
	uint16_t code_file;
	uint16_t code_name;
	uint16_t code_qualified_name; /* 0 = there is none */
	uint16_t code_lines;
	uint16_t code_bytecode;
	uint16_t text_ascii; /* characters of a text that is all ASCII */
	uint16_t text_wide;  /* and of one that is not */

	/* Found in this process. */
	bool free_threaded;
	struct gsb_elf interpreter;  /* the module that holds it */
	char *(*thread_state)(void); /* PyGILState_GetThisThreadState: needs no GIL */
	const char *type_code, *type_text, *type_bytes;
};

/* Frames of the interpreter itself, on the C stack: they have this owner or a higher one. */
#define GS_PYTHON_OWNER_INTERPRETER 3

/* Fields that are the same in all versions. */
#define GS_PYTHON_TYPE 8	/* object: its type */
#define GS_PYTHON_LENGTH 16	/* text and bytes */
#define GS_PYTHON_TEXT_HASH 24	/* -1 = not computed yet */
#define GS_PYTHON_TEXT_STATE 32 /* bits 2-4: bytes per character, 5: compact, 6: ASCII */
#define GS_PYTHON_BYTES_DATA 32

static inline const char *gs_python_pointer(const char *object, uint16_t offset)
{
	const char *pointer;

	memcpy(&pointer, object + offset, sizeof(pointer));
	return pointer;
}

static inline int64_t gs_python_word(const char *object, uint16_t offset)
{
	int64_t word;

	memcpy(&word, object + offset, sizeof(word));
	return word;
}

static inline int32_t gs_python_int(const char *object, uint16_t offset)
{
	int32_t number;

	memcpy(&number, object + offset, sizeof(number));
	return number;
}

static inline const char *gs_python_frame_code(const struct gs_python_layout *layout, const char *frame)
{
	return (const char *)((uintptr_t)gs_python_pointer(frame, layout->frame_code) & ~(uintptr_t)3);
}

/* The innermost frame of a thread state; NULL = none. */
static inline const char *gs_python_first_frame(const struct gs_python_layout *layout, const char *state)
{
	const char *first = gs_python_pointer(state, layout->state_frame);

	return layout->cframe && first != NULL ? gs_python_pointer(first, layout->cframe_frame) : first;
}

/* 0, GS_E_NOT_FOUND when this process has no Python, GS_E_UNSUPPORTED when its layout is not known: then only version
 * and free_threaded are filled in. */
int gs_python_layout_find(struct gs_python_layout *ret_layout);

/* True if the frames of this thread look as they must: each is readable, its code object is one, its names are texts,
 * its instruction lies in its bytecode. first is not NULL. */
bool gs_python_layout_prove(const struct gs_python_layout *layout, const char *first);

#endif
