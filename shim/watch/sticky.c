/* See sticky.h. Candidates are grouped by kernel and place. The likeliest come first: kernels before copies; those that
 * are not known to have ever run well from that place before those that are; older ones before younger ones, since the
 * device stops at the first error. */
#include "shim/watch/sticky.h"

#include <stdatomic.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/conf.h"
#include "shim/core/order.h"
#include "shim/snap/snapshot.h"
#include "shim/stack/stack.h"
#include "shim/watch/launch.h"
#include "shim/watch/note.h"
#include "shim/watch/place.h"

#define GROUPS 64u
#define SHOWN 3u
#define KERNEL_NAME_BYTES 96

struct group {
	uint32_t name;
	uint32_t stack;
	uint8_t kind;
	unsigned count;
	unsigned done; /* launches of the same name that are known to have run well */
	unsigned here; /* of these, from the same place */
	uint64_t first_ns;
};

static struct gs_sticky_error error; /* written by the thread that came first, before `known` */
static atomic_flag taken = ATOMIC_FLAG_INIT;
static _Atomic bool known;

bool gs_sticky_read(struct gs_sticky_error *ret_error)
{
	if (!atomic_load_explicit(&known, memory_order_acquire))
		return false;
	*ret_error = error;
	return true;
}

/* --- candidates -------------------------------------------------------------------------------------------------- */

static bool may_be_to_blame(const struct gs_launch *launch)
{
	return launch->state == GS_WORK_OPEN || launch->state == GS_WORK_REFUSED;
}

static struct group *group_of(struct group *groups, unsigned *count, const struct gs_launch *launch)
{
	for (unsigned i = 0; i < *count; i++)
		if (groups[i].name == launch->name && groups[i].stack == launch->stack &&
		    groups[i].kind == launch->kind)
			return &groups[i];
	if (*count == GROUPS)
		return NULL;
	groups[*count] = (struct group){.name = launch->name,
					.stack = launch->stack,
					.kind = launch->kind,
					.first_ns = launch->time_ns};
	return &groups[(*count)++];
}

static bool likelier(const struct group *a, const struct group *b)
{
	bool a_computes = a->kind == GS_WORK_KERNEL || a->kind == GS_WORK_GRAPH;
	bool b_computes = b->kind == GS_WORK_KERNEL || b->kind == GS_WORK_GRAPH;

	if (a_computes != b_computes)
		return a_computes;
	if ((a->here == 0) != (b->here == 0))
		return a->here == 0;
	return a->first_ns < b->first_ns;
}

static void groups_sort(struct group *groups, unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		struct group group = groups[i];
		unsigned at = i;

		for (; at > 0 && likelier(&group, &groups[at - 1]); at--)
			groups[at] = groups[at - 1];
		groups[at] = group;
	}
}

/* Returns how many launches may be to blame; groups beyond the room for them are only counted there. */
static size_t groups_make(const struct gs_launch *launches, size_t count, struct group *groups, unsigned *ret_count)
{
	size_t open = 0;

	*ret_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct group *group;

		if (!may_be_to_blame(&launches[i]))
			continue;
		open++;
		group = group_of(groups, ret_count, &launches[i]);
		if (group == NULL)
			continue;
		group->count++;
		if (launches[i].time_ns < group->first_ns)
			group->first_ns = launches[i].time_ns;
	}
	for (size_t i = 0; i < count; i++)
		for (unsigned at = 0; at < *ret_count && launches[i].state == GS_WORK_DONE; at++) {
			groups[at].done += groups[at].name == launches[i].name;
			groups[at].here += groups[at].name == launches[i].name && groups[at].stack == launches[i].stack;
		}
	groups_sort(groups, *ret_count);
	return open;
}

/* --- the line ---------------------------------------------------------------------------------------------------- */

static void group_add(struct gsb_text *text, const struct group *group)
{
	char name[KERNEL_NAME_BYTES];
	struct gsb_text cut;

	gsb_text_init(&cut, name, sizeof(name));
	gsb_text_add(&cut, "%s", gs_string_read(group->name));
	gsb_text_add(text, "%s%s at ", name, cut.cut ? ".." : "");
	gs_place_add(text, group->stack);
	if (group->count > 1)
		gsb_text_add(text, " (%u launches)", group->count);
	if (group->done == 0)
		gsb_text_add(text, ", not known to have run well before");
}

static void verdict_add(struct gsb_text *text, const struct group *groups, unsigned group_count, size_t open)
{
	if (group_count == 0 && error.lost == 0) {
		gsb_text_add(text, "; of what was launched, all is known to have run well");
		return;
	}
	if (group_count == 1 && error.lost == 0) {
		gsb_text_add(text, "; the cause is ");
		group_add(text, &groups[0]);
		return;
	}
	gsb_text_add(text, "; to blame may be any of %llu launches since the last wait that ended well%s",
		     (unsigned long long)(open + error.lost), group_count > 0 ? ", the likeliest first: " : "");
	for (unsigned i = 0; i < group_count && i < SHOWN; i++) {
		gsb_text_add(text, "%s", i > 0 ? "; " : "");
		group_add(text, &groups[i]);
	}
	if (group_count > SHOWN)
		gsb_text_add(text, "; and %s%u more", group_count == GROUPS ? "at least " : "", group_count - SHOWN);
	if (!gs_launch_blocks())
		gsb_text_add(text, ". With CUDA_LAUNCH_BLOCKING=1 it is the one that fails");
}

static void say(void)
{
	struct group groups[GROUPS];
	struct gs_launch *launches;
	unsigned group_count = 0;
	size_t capacity = gs_launch_read(NULL, 0, NULL) + 64, count, open = 0;
	char line[GSB_LOG_LINE_BYTES];
	struct gsb_text text;

	gsb_text_init(&text, line, sizeof(line));
	gsb_text_add(&text, "%s, noticed by %s at ", error.name, error.function);
	gs_place_add(&text, error.stack);
	launches = gsb_os_pages_map(capacity * sizeof(*launches));
	if (launches != NULL) {
		count = gs_launch_read(launches, capacity, &error.lost);
		open = groups_make(launches, count < capacity ? count : capacity, groups, &group_count);
		gsb_os_pages_unmap(launches, capacity * sizeof(*launches));
	}
	if (gs_launch_logs())
		verdict_add(&text, groups, group_count, open);
	gsb_log(GSB_LOG_WARN, "%s", line);
}

static const char *name_of(CUresult result)
{
	const char *name = NULL;

	if (gs_driver.cuGetErrorName == NULL || gs_driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
		return "an error that sticks";
	return name;
}

void gs_sticky_look(const struct gs_call *call, CUresult result)
{
	static char path[GS_SNAPSHOT_PATH_BYTES]; /* of whoever has taken it */

	gs_order_note_error(result);
	if (!gs_order_breaks(result) || atomic_flag_test_and_set(&taken))
		return;
	error = (struct gs_sticky_error){
		.result = result,
		.name = name_of(result),
		.function = gs_fn_info[gs_thread.runtime_fn != 0 ? gs_thread.runtime_fn - 1 : call->fn].symbol,
		.time_ns = gsb_os_now_ns(),
		.stack = gs_note_stack(call),
		.thread = gs_thread_id(),
	};
	say();
	atomic_store_explicit(&known, true, memory_order_release);
	if ((gs_conf.snapshot & GS_SNAPSHOT_ERROR) != 0 &&
	    gs_snapshot_write(GS_SNAPSHOT_AT_ERROR, path, sizeof(path)) == GS_OK)
		gsb_log(GSB_LOG_WARN, "what was launched: gpushim-report summary %s", path);
}
