/* The interned tables of shim/stack: strings, frames, modules and the tree of nodes. Reading is declared in stack.h;
 * this is how the rest of the room adds. Every function may be called by any thread, looks first without a lock and
 * takes the STACK lock only to add. */
#ifndef GS_STACK_INTERN_H
#define GS_STACK_INTERN_H

#include "shim/stack/stack.h"

/* Longer texts are cut, at the end of a character. */
#define GS_STRING_BYTES_MAX (16u << 10)

/* The number of the text; 0, the empty text, when the table is full. */
uint32_t gs_string_intern_bytes(const char *bytes, size_t length);

#define GS_MODULES_MAX (1u << 14)

/* GS_E_LIMIT or GS_E_NO_HOST_MEMORY when nothing more fits. */
int gs_frame_intern(const struct gs_frame *frame, uint32_t *ret_frame);
int gs_node_intern(uint32_t parent, uint32_t frame, uint32_t *ret_node);

/* Adds without looking for an equal one: shim/stack/module.c knows which are new. */
int gs_module_add(const struct gs_module *module, uint32_t *ret_module);

#endif
