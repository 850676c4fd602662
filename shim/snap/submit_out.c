/* See submit_out.h. Figures that are 0 are left out. */
#include "shim/snap/submit_out.h"

#include "graph/replay.h"
#include "report/schema.h"
#include "shim/submit/count.h"

#define FLUSHES 10 /* functions that are named */

static void submit_row(struct gs_json *json, const char *kind, const char *name, const char *text, uint64_t count,
		       uint64_t host_ns)
{
	if (count == 0)
		return;
	gs_json_object_begin(json, NULL);
	gs_json_text(json, GS_KEY(submit, kind), kind);
	gs_json_text(json, GS_KEY(submit, name), name);
	gs_json_text(json, GS_KEY(submit, text), text);
	gs_json_count(json, GS_KEY(submit, count), count);
	gs_json_count(json, GS_KEY(submit, host_ns), host_ns);
	gs_json_object_end(json);
}

void gs_submit_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	struct gs_submit_flush flushes[FLUSHES];
	uint64_t count, host_ns;
	size_t named = source->flushes(flushes, FLUSHES, &count, &host_ns);

	gs_json_array_begin(json, "submit");
#define PUT_ROW(name, key) submit_row(json, "put_off", key, "", source->put_off(GS_SUBMIT_##name), 0);
	GS_SUBMIT_KINDS(PUT_ROW)
#undef PUT_ROW
#define DIRECT_ROW(name, key, text) submit_row(json, "at_once", key, text, source->made_at_once(GS_SUBMIT_FOR_##name), 0);
	GS_SUBMIT_REASONS(DIRECT_ROW)
#undef DIRECT_ROW
	submit_row(json, "flushes", "all", "calls that waited for what was put off", count, host_ns);
	for (size_t i = 0; i < named; i++)
		submit_row(json, "flush", flushes[i].name, "", flushes[i].count, flushes[i].ns);
	gs_json_array_end(json);
}

static void graph_row(struct gs_json *json, const char *kind, const char *name, const char *text, uint64_t count)
{
	if (count == 0)
		return;
	gs_json_object_begin(json, NULL);
	gs_json_text(json, GS_KEY(graph, kind), kind);
	gs_json_text(json, GS_KEY(graph, name), name);
	gs_json_text(json, GS_KEY(graph, text), text);
	gs_json_count(json, GS_KEY(graph, count), count);
	gs_json_object_end(json);
}

#define FIGURE(name, text) graph_row(json, "figure", #name, text, atomic_load(&stats->name))

void gs_graph_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	const struct gsg_replay_stats *stats = source->graph_stats();
	int64_t saved_ns = stats != NULL ? atomic_load(&stats->saved_ns) : 0;

	gs_json_array_begin(json, "graph");
	if (stats != NULL) {
		FIGURE(launches, "launches that were looked at");
		FIGURE(replayed, "of them, as nodes of graphs");
		FIGURE(graph_launches, "launches of graphs");
		FIGURE(patched, "nodes that got other arguments before a launch");
		FIGURE(periods, "repeats that were found");
		FIGURE(built, "traces that graphs were built for");
		FIGURE(refused, "traces that the driver would not make, patch or launch");
		FIGURE(evicted, "traces that gave way to others");
		FIGURE(forgotten, "traces that ended with code, a context or for want of memory");
		FIGURE(suspended, "times that a trace was found not to pay");
		FIGURE(live, "traces that there are");
		FIGURE(live_bytes, "what these are estimated to hold");
		FIGURE(build_ns, "host time of building");
		graph_row(json, "figure", "saved_ns", "host time saved, as estimated, without building",
			  saved_ns > 0 ? (uint64_t)saved_ns : 0);
		graph_row(json, "figure", "lost_ns", "host time lost, as estimated, without building",
			  saved_ns < 0 ? (uint64_t)-saved_ns : 0);
#define PLAIN_ROW(name, key, text) graph_row(json, "plain", key, text, atomic_load(&stats->plain[GSG_PLAIN_##name]));
		GSG_PLAIN_REASONS(PLAIN_ROW)
#undef PLAIN_ROW
#define FALL_ROW(name, key, text) graph_row(json, "fall", key, text, atomic_load(&stats->falls[GSG_PLAIN_##name]));
		GSG_PLAIN_REASONS(FALL_ROW)
#undef FALL_ROW
	}
	gs_json_array_end(json);
}
