/* See key.h. The frames are read as in python.c; what they hold is only mixed, never looked into. */
#include "shim/stack/key.h"

#include "shim/core/conf.h"
#include "shim/stack/python.h"
#include "shim/stack/stack.h"

/* No power of two: a process without Python is not searched from here. */
#define ATTEMPT 3u

static const uint64_t factors[2 * GS_STACK_KEY_FRAMES] = {
	0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u,
	0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
	0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu, 0xeb44accab455d165u};

/* Of the innermost frame also the names, because code objects are freed and their memory is used for others. */
static uint64_t code_key(const struct gs_python_layout *layout, const char *code)
{
	if (code == NULL)
		return 0;
	return (uint64_t)gs_python_word(code, layout->code_name) * 3 +
	       (uint64_t)gs_python_int(code, layout->code_first_line) * 5;
}

static uint64_t python_key(const struct gs_python_layout *layout)
{
	const char *state = layout->thread_state(), *frame;
	uint64_t key = 0;

	if (state == NULL || (frame = gs_python_first_frame(layout, state)) == NULL)
		return 0;
	key = code_key(layout, gs_python_frame_code(layout, frame));
	for (unsigned i = 0; i < GS_STACK_KEY_FRAMES && frame != NULL;
	     i++, frame = gs_python_pointer(frame, layout->frame_previous)) {
		uint64_t instr = layout->code_bytecode == 0 ? (uint64_t)gs_python_int(frame, layout->frame_instr)
							    : (uint64_t)gs_python_word(frame, layout->frame_instr);

		key += instr * factors[2 * i] + (uint64_t)gs_python_word(frame, layout->frame_code) * factors[2 * i + 1];
	}
	return key;
}

uint64_t gs_stack_key(const void *call_site, const void *depth)
{
	const struct gs_python_layout *layout;
	uint64_t key = 0;

	if (gs_conf.stacks == GS_STACK_OFF)
		return 0;
	if ((gs_conf.stacks & GS_STACK_PYTHON) != 0 && (layout = gs_python_layout(ATTEMPT)) != NULL)
		key = python_key(layout);
	if (key == 0)
		key = (uint64_t)(uintptr_t)depth * factors[0];
	return key + (uint64_t)(uintptr_t)call_site * factors[1];
}
