/* See python.h. */
#include "shim/stack/python.h"

#include <stdatomic.h>

#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/stack/intern.h"

/* Attempts after which a process without Python is left alone for good. */
#define SEARCH_ATTEMPTS_MAX ((uint64_t)1 << 24)

/* A capture that differs from the one before in more inner frames than this compares all of them. */
#define INNER_MAX 16u

/* So many of the frames that were there last the caches are told of at once: each is found by the one inside of it, one after the
 * other. */
#define FRAMES_AHEAD 32u

enum python_state {
	PYTHON_ABSENT,	 /* not found so far */
	PYTHON_BUSY,	 /* one thread is searching or proving */
	PYTHON_UNPROVEN, /* found; no frames to prove it by so far */
	PYTHON_USED,
	PYTHON_REFUSED
};

GSB_HOT static _Atomic enum python_state python_state;
GSB_HOT static struct gs_python_layout python_layout; /* written while BUSY; constant from USED on */
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

/* Whether this is a frame of the interpreter itself, which is passed over. */
static bool frame_hidden(const struct gs_python_layout *layout, const char *frame)
{
	return gs_python_frame_code(layout, frame) == NULL ||
	       (layout->frame_owner != 0 && (unsigned char)frame[layout->frame_owner] >= GS_PYTHON_OWNER_INTERPRETER);
}

static struct gs_python_link frame_link(const struct gs_python_layout *layout, const char *frame)
{
	return (struct gs_python_link){
	    .code = gs_python_frame_code(layout, frame),
	    .instr = layout->code_bytecode == 0 ? gs_python_int(frame, layout->frame_instr)
						: gs_python_word(frame, layout->frame_instr),
	};
}

/* Innermost first. At the limit ret_cut is set. */
static uint32_t frames_walk(const struct gs_python_layout *layout, const char *frame, struct gs_python_last *last,
			    bool *ret_cut)
{
	uint32_t count = 0;

	for (; frame != NULL; frame = gs_python_pointer(frame, layout->frame_previous)) {
		if (frame_hidden(layout, frame))
			continue;
		if (count == GS_PYTHON_FRAMES_MAX) {
			*ret_cut = true;
			break;
		}
		last->frames[count] = frame;
		last->links[count++] = frame_link(layout, frame);
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

static bool level_holds(const struct gs_python_layout *layout, const struct gs_python_level *level)
{
	return level->version != 0 ? gs_python_code_version(layout, level->link.code) == level->version
				   : gs_python_code_holds(layout, level->code);
}

/* Whether this frame and all around it are what they were, from this level on outwards. */
static bool outer_same(const struct gs_python_layout *layout, const struct gs_python_last *last, const char *frame,
		       uint32_t level)
{
	for (; frame != NULL; frame = gs_python_pointer(frame, layout->frame_previous)) {
		const struct gs_python_level *was;
		struct gs_python_link link;

		if (level == UINT32_MAX || frame != last->levels[level].frame) {
			if (frame_hidden(layout, frame))
				continue;
			return false;
		}
		was = &last->levels[level];
		link = frame_link(layout, frame);
		if (!link_same(&link, &was->link) || !level_holds(layout, was))
			return false;
		level--;
	}
	return level == UINT32_MAX;
}

/* The level of a frame that is where one was, among the inner ones. */
static bool level_find(const struct gs_python_last *last, const char *frame, uint32_t *ret_level)
{
	for (uint32_t level = last->depth, tries = 0; level > 0 && tries < INNER_MAX; level--, tries++) {
		if (last->levels[level - 1].frame == frame) {
			*ret_level = level - 1;
			return true;
		}
	}
	return false;
}

/* How many levels are what they were, if that can be told by looking at the inner frames; these are left in links. */
static bool levels_keep(const struct gs_python_layout *layout, const char *frame, struct gs_python_last *last,
			uint32_t *ret_levels, uint32_t *ret_inner)
{
	uint32_t inner = 0, level;

	for (; frame != NULL && inner < INNER_MAX; frame = gs_python_pointer(frame, layout->frame_previous)) {
		if (frame_hidden(layout, frame))
			continue;
		last->frames[inner] = frame;
		last->links[inner] = frame_link(layout, frame);
		if (level_find(last, frame, &level) && link_same(&last->links[inner], &last->levels[level].link)) {
			*ret_levels = level + 1;
			*ret_inner = inner;
			return outer_same(layout, last, frame, level) && level + 1 + inner <= GS_PYTHON_FRAMES_MAX;
		}
		inner++;
	}
	return false;
}

static void fetch(const struct gs_python_layout *layout, const struct gs_python_last *last)
{
	uint32_t end = last->depth > FRAMES_AHEAD ? last->depth - FRAMES_AHEAD : 0;

	for (uint32_t level = last->depth; level > end; level--) {
		const struct gs_python_level *was = &last->levels[level - 1];

		__builtin_prefetch(was->frame);
		__builtin_prefetch(was->frame + layout->frame_instr);
		__builtin_prefetch(was->link.code + layout->code_version);
	}
}

uint32_t gs_python_capture(const struct gs_python_layout *layout, struct gs_python_last *last, bool *ret_cut)
{
	const char *state = layout->thread_state();
	const char *first = state == NULL ? NULL : gs_python_first_frame(layout, state);
	uint32_t level = 0, inner, count, node;

	fetch(layout, last);
	if (levels_keep(layout, first, last, &level, &inner)) {
		count = level + inner;
	} else {
		count = frames_walk(layout, first, last, ret_cut);
		for (level = 0; level < count && level < last->depth; level++)
			if (!link_same(&last->levels[level].link, &last->links[count - 1 - level]) ||
			    !level_holds(layout, &last->levels[level]))
				break;
		for (uint32_t at = 0; at < level; at++)
			last->levels[at].frame = last->frames[count - 1 - at];
	}
	node = level == 0 ? 0 : last->levels[level - 1].node;
	for (; level < count; level++) {
		const struct gs_python_link *link = &last->links[count - 1 - level];
		struct gs_python_level *now = &last->levels[level];

		if (link_node(layout, last, node, link, &now->code, &node) != GS_OK) {
			*ret_cut = true;
			break;
		}
		now->frame = last->frames[count - 1 - level];
		now->link = *link;
		now->node = node;
		now->version = now->code->version;
	}
	last->depth = level;
	return node;
}
