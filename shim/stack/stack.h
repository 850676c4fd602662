/* Stacks of the calling thread, interned: one number stands for "Python frames, then native frames".
 *
 * A stack is a path in a tree: node = (parent node, frame), where the parent is the caller. Node 0 is the root, of no
 * frame; a stack is the number of its innermost node, 0 = no stack. Frames are interned likewise; texts and modules
 * too. All numbers are dense and only grow, so that a reader may take the counts first and then read everything below
 * them while others add. Memory is our own and bounded; at the bound the stack is cut (the number of what is known)
 * and counted.
 *
 * Python frames are read from the interpreter's own frame chain, without the GIL and only for the calling thread;
 * native frames come from libunwind if it can be loaded, else from glibc. Lines are resolved late: a Python frame
 * is stored with its line as soon as its (code, instruction) pair is first seen; a native frame is module + offset,
 * resolved by the report. */
#ifndef GS_STACK_STACK_H
#define GS_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gs_stack_mode {
	GS_STACK_OFF = 0,
	GS_STACK_PYTHON = 1,
	GS_STACK_NATIVE = 2,
	GS_STACK_ALL = 4 /* native frames at every event, not only at first sight of a (Python stack, call site) */
};

/* Called once, at start; flags is a sum of enum gs_stack_mode. Finds out lazily whether the process has a Python. */
void gs_stack_init(unsigned flags);

/* The stack of the caller. call_site: return address into the program, 0 = unknown; part of the key under which
 * native frames are remembered. Keeps errno. Never takes the GIL, never allocates from the program's heap. */
uint32_t gs_stack_capture(const void *call_site);

/* Who knows more about stacks than can be seen: is told of each stack of Python frames, and asked for one on a thread that
 * has none, 0 = none. Native frames go inside of that. Both run within a capture. */
struct gs_stack_origin {
	void (*seen)(uint32_t stack);
	uint32_t (*outer)(void);
};
void gs_stack_origin_set(const struct gs_stack_origin *origin); /* once, at start; static */

enum gs_frame_kind { GS_FRAME_NONE, GS_FRAME_PYTHON, GS_FRAME_NATIVE };

struct gs_frame {
	enum gs_frame_kind kind;
	uint32_t function; /* Python: string; native: 0, resolved later */
	uint32_t file;	   /* Python: string; native: module number, 0 = in no module (generated code) */
	uint32_t line;	   /* Python: line, 0 = unknown */
	uint64_t offset;   /* native: return address minus the module's load bias */
};

struct gs_module {
	uint32_t path;	     /* string */
	uint32_t build_id;   /* string of hexadecimal digits; 0 = none */
	uint64_t base;	     /* load bias */
	uint64_t start, end; /* addresses covered by its loaded segments */
};

/* Reading: any index below the count is stable for ever. */
size_t gs_stack_count(void);  /* nodes, node 0 included */
size_t gs_frame_count(void);  /* frame 0 is none */
size_t gs_string_count(void); /* string 0 is "" */
size_t gs_module_count(void); /* module 0 is none */
void gs_stack_read(uint32_t stack, uint32_t *ret_parent, uint32_t *ret_frame);
void gs_frame_read(uint32_t frame, struct gs_frame *ret_frame);
const char *gs_string_read(uint32_t string); /* zero-terminated UTF-8, never NULL */
void gs_module_read(uint32_t module, struct gs_module *ret_module);

/* Interns a text that lives elsewhere (a thread name, a kernel name). */
uint32_t gs_string_intern(const char *text);

struct gs_stack_counters {
	uint64_t captures;     /* calls of gs_stack_capture */
	uint64_t native_walks; /* native unwinds among them */
	uint64_t cut;	       /* stacks cut: a table was full, or more than 1024 Python frames */
	const char *python;    /* "3.12 (table)", "none", "3.14t (refused)" ...; static text */
	const char *native;    /* "libunwind", "backtrace" or "off"; static text */
};
void gs_stack_counters_read(struct gs_stack_counters *ret_counters);

/* In the child of a fork. */
void gs_stack_reset_locks(void);

#endif
