/* Python frames of the calling thread, read without the GIL.
 *
 * A thread's own frames cannot change while it is down here in C, and each holds its code object; so nothing needs to
 * be locked or counted. What the last capture saw is kept per thread: only frames that differ are looked up again. Most
 * captures differ in a few inner frames: where a frame outside of these is at the place where one was, at the same
 * instruction of the same code, and so are all around it, they are what they were. */
#ifndef GS_STACK_PYTHON_H
#define GS_STACK_PYTHON_H

#include "shim/stack/python_code.h"

/* Of a deeper stack the innermost frames are taken. */
#define GS_PYTHON_FRAMES_MAX 1024u

struct gs_python_link {
	const char *code;
	int64_t instr;
};

/* What was found last for a link below a parent: a capture that differs from the one before in a few inner frames, as most
 * do, finds these here. */
struct gs_python_found {
	struct gs_python_link link;
	const struct gs_python_code *code; /* NULL = nothing */
	uint32_t parent, node;
};

#define GS_PYTHON_FOUND_COUNT 512u

/* The last capture of one thread. */
struct gs_python_last {
	uint32_t depth;
	struct gs_python_level {
		const char *frame; /* where it was */
		struct gs_python_link link;
		uint32_t node;
		uint32_t version; /* of the code */
		const struct gs_python_code *code;
	} levels[GS_PYTHON_FRAMES_MAX];			   /* outermost first */
	struct gs_python_link links[GS_PYTHON_FRAMES_MAX]; /* innermost first; scratch, like the next one */
	const char *frames[GS_PYTHON_FRAMES_MAX];
	struct gs_python_found found[GS_PYTHON_FOUND_COUNT];
};

/* The interpreter's layout, or NULL: no Python, or one whose layout is unknown. A process without Python is searched
 * again from time to time: at each power of two of the caller's attempt number. */
const struct gs_python_layout *gs_python_layout(uint64_t attempt);

/* The stack of this thread's Python frames; 0 when it has none. ret_cut: something was left out. */
uint32_t gs_python_capture(const struct gs_python_layout *layout, struct gs_python_last *last, bool *ret_cut);

/* "3.12 (table)", "3.13 (offsets)", "none", "3.14t (refused)". */
const char *gs_python_name(void);

#endif
