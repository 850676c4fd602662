/* See python.h. */
#include "shim/stack/python.h"

#include <stdatomic.h>

#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/stack/intern.h"

/* Attempts after which a process without Python is left alone for good. */
#define SEARCH_ATTEMPTS_MAX ((uint64_t)1 << 24)

enum python_state {
	PYTHON_ABSENT,	 /* not found so far */
	PYTHON_BUSY,	 /* one thread is searching or proving */
	PYTHON_UNPROVEN, /* found; no frames to prove it by so far */
	PYTHON_USED,
	PYTHON_REFUSED
};

static _Atomic enum python_state python_state;
static struct gs_python_layout python_layout; /* written while BUSY; constant from USED on */
static char python_name[32];		      /* likewise; read from USED or REFUSED on */

static const char *name_make(const char *how)
{
	struct gsb_text text;

	gsb_text_init(&text, python_name, sizeof(python_name));
	gsb_text_add(&text, "%u.%u%s (%s)", python_layout.version >> 8, python_layout.version & 0xffu,
		     python_layout.free_threaded ? "t" : "", how);
	return python_name;
}

static void state_set(enum python_state state)
{
	atomic_store_explicit(&python_state, state, memory_order_release);
}

static void refuse(void)
{
	gsb_log(GSB_LOG_INFO, "no Python stacks: unknown interpreter layout, %s", name_make("refused"));
	state_set(PYTHON_REFUSED);
}

static void search(void)
{
	int error = gs_python_layout_find(&python_layout);

	if (error == GS_E_NOT_FOUND)
		state_set(PYTHON_ABSENT);
	else if (error != GS_OK)
		refuse();
	else
		state_set(PYTHON_UNPROVEN);
}

static void prove(void)
{
	const char *state = python_layout.thread_state();
	const char *first = state == NULL ? NULL : gs_python_first_frame(&python_layout, state);

	if (first == NULL) {
		state_set(PYTHON_UNPROVEN);
	} else if (gs_python_layout_prove(&python_layout, first)) {
		name_make(python_layout.version >= 0x030d ? "offsets" : "table");
		state_set(PYTHON_USED);
	} else {
		refuse();
	}
}

const struct gs_python_layout *gs_python_layout(uint64_t attempt)
{
	enum python_state state = atomic_load_explicit(&python_state, memory_order_acquire);

	if (__builtin_expect(state == PYTHON_USED, 1))
		return &python_layout;
	if (state == PYTHON_ABSENT && (attempt & (attempt - 1)) == 0 && attempt <= SEARCH_ATTEMPTS_MAX &&
	    atomic_compare_exchange_strong(&python_state, &state, PYTHON_BUSY)) {
		search();
		state = atomic_load_explicit(&python_state, memory_order_acquire);
	}
	if (state == PYTHON_UNPROVEN && atomic_compare_exchange_strong(&python_state, &state, PYTHON_BUSY)) {
		prove();
		state = atomic_load_explicit(&python_state, memory_order_acquire);
	}
	return state == PYTHON_USED ? &python_layout : NULL;
}

const char *gs_python_name(void)
{
	enum python_state state = atomic_load_explicit(&python_state, memory_order_acquire);

	return state == PYTHON_USED || state == PYTHON_REFUSED ? python_name : "none";
}

/* --- capturing --- */

/* Innermost first. At the limit ret_cut is set. */
static uint32_t frames_walk(const struct gs_python_layout *layout, struct gs_python_link *links, bool *ret_cut)
{
	const char *state = layout->thread_state(), *frame;
	uint32_t count = 0;

	if (state == NULL)
		return 0;
	for (frame = gs_python_first_frame(layout, state); frame != NULL;
	     frame = gs_python_pointer(frame, layout->frame_previous)) {
		const char *code = gs_python_frame_code(layout, frame);

		if (code == NULL || (layout->frame_owner != 0 &&
				     (unsigned char)frame[layout->frame_owner] >= GS_PYTHON_OWNER_INTERPRETER))
			continue;
		if (count == GS_PYTHON_FRAMES_MAX) {
			*ret_cut = true;
			break;
		}
		links[count].code = code;
		links[count++].instr = layout->code_bytecode == 0 ? gs_python_int(frame, layout->frame_instr)
								  : gs_python_word(frame, layout->frame_instr);
	}
	return count;
}

_Static_assert(GS_PYTHON_FOUND_COUNT == 1u << (64 - 55), "found_slot takes the upper bits");

static bool link_same(const struct gs_python_link *a, const struct gs_python_link *b)
{
	return a->code == b->code && a->instr == b->instr;
}

static struct gs_python_found *found_slot(struct gs_python_last *last, uint32_t parent,
					  const struct gs_python_link *link)
{
	uint64_t key = (uint64_t)link->instr ^ (uint64_t)(uintptr_t)link->code >> 4 ^ (uint64_t)parent << 32;

	return &last->found[key * 0x9e3779b97f4a7c15u >> 55];
}

/* The node of a link below its parent; the record of its code too. */
static int link_node(const struct gs_python_layout *layout, struct gs_python_last *last, uint32_t parent,
		     const struct gs_python_link *link, const struct gs_python_code **ret_code, uint32_t *ret_node)
{
	struct gs_python_found *found = found_slot(last, parent, link);
	uint32_t frame;

	if (found->code == NULL || found->parent != parent || !link_same(&found->link, link) ||
	    !gs_python_code_holds(layout, found->code)) {
		int error = gs_python_code_frame(layout, link->code, link->instr, &found->code, &frame);

		if (error == GS_OK)
			error = gs_node_intern(parent, frame, &found->node);
		if (error != GS_OK) {
			found->code = NULL;
			return error;
		}
		found->parent = parent;
		found->link = *link;
	}
	*ret_code = found->code;
	*ret_node = found->node;
	return GS_OK;
}

uint32_t gs_python_capture(const struct gs_python_layout *layout, struct gs_python_last *last, bool *ret_cut)
{
	uint32_t count = frames_walk(layout, last->links, ret_cut), level = 0, node;

	while (level < count && level < last->depth &&
	       link_same(&last->levels[level].link, &last->links[count - 1 - level]) &&
	       gs_python_code_holds(layout, last->levels[level].code))
		level++;
	node = level == 0 ? 0 : last->levels[level - 1].node;
	for (; level < count; level++) {
		const struct gs_python_link *link = &last->links[count - 1 - level];

		if (link_node(layout, last, node, link, &last->levels[level].code, &node) != GS_OK) {
			*ret_cut = true;
			break;
		}
		last->levels[level].link = *link;
		last->levels[level].node = node;
	}
	last->depth = level;
	return node;
}
