/* See finding.h. */
#include "report/finding.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum weight { PROBLEM, NORMAL };
enum needs { ANY, WAIT };

/* A place belongs to what the program does again and again if it was come to often, and either in the last part of the
 * program or over a good part of it: otherwise it is its start, or the first round of a loop. */
#define LAST_PART(launches) ((launches) - (launches) / 3)
#define GOOD_PART(launches) ((launches) / 4)

/* A call that takes less than this on average found nothing to wait for. */
#define PRICE_NS 10000

/* So many kernels at one line, timed one after the other, are tried out. */
#define TRIED_LEAST 4u
#define KERNELS_NAMED 3u

/* After waits by name the device is idle for less than this share of the time that they took: it was busy up to them and again
 * right afterwards, as at the end of a step or of what is timed, or it had more to do behind what they waited for. */
#define TIMELY_SHARE 200

const struct gsr_finding_text gsr_finding_texts[GSR_FINDING_KINDS] = {
#define FINDING(name, key, weight, title, advice) [GSR_FINDING_##name] = {key, title, advice, (weight) == PROBLEM},
#include "report/finding.def"
};

static const struct mark {
	enum gsr_finding_kind finding;
	const char *kind, *file, *function;
} marks[] = {
#define MARK(name, kind, file, function) {GSR_FINDING_##name, kind, file, function},
#include "report/finding.def"
};

static const struct kind {
	enum gsr_finding_kind finding;
	enum needs needs;
	const char *call_class, *function, *way, *memory;
	uint64_t most_bytes;
} kinds[] = {
#define KIND(name, needs, class, function, way, memory, most_bytes)                                                    \
	{GSR_FINDING_##name, needs, class, function, way, memory, most_bytes},
#include "report/finding.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static bool mark_fits(const struct gsr_model *model, struct gsr_places *places, const struct mark *mark, uint64_t stack)
{
	for (; stack != 0; stack = GSR_CELL(model, stacks, parent, stack)) {
		uint64_t frame = GSR_CELL(model, stacks, frame, stack);
		const char *file, *function;

		if (frame == 0 || strcmp(GSR_NAME(model, frames, kind, frame), mark->kind) != 0)
			continue;
		gsr_frame_names(places, frame, &file, &function);
		if (fnmatch(mark->file, file, 0) == 0 && fnmatch(mark->function, function, 0) == 0)
			return true;
	}
	return false;
}

/* For work on the device: by name, or for a copy. */
static bool row_waits(const struct gsr_model *model, size_t row)
{
	const char *call_class = GSR_NAME(model, waits, class, row);

	return strcmp(call_class, "sync") == 0 || strcmp(call_class, "copy") == 0 ||
	       (strcmp(call_class, "copy_async") == 0 &&
		strcmp(GSR_NAME(model, waits, memory, row), "pageable") == 0);
}

static uint64_t bytes_each(const struct gsr_model *model, size_t row)
{
	uint64_t calls = GSR_CELL(model, waits, calls, row);

	return calls > 0 ? GSR_CELL(model, waits, size_bytes, row) / calls : 0;
}

/* each: bytes of a call, of the row of the place that has most. */
static bool kind_fits(const struct gsr_model *model, const struct kind *kind, size_t row, bool waits, uint64_t each)
{
	return (kind->needs != WAIT || waits) &&
	       fnmatch(kind->call_class, GSR_NAME(model, waits, class, row), 0) == 0 &&
	       fnmatch(kind->function, gsr_string(model, GSR_CELL(model, waits, function, row)), 0) == 0 &&
	       fnmatch(kind->way, GSR_NAME(model, waits, way, row), 0) == 0 &&
	       fnmatch(kind->memory, GSR_NAME(model, waits, memory, row), 0) == 0 &&
	       (kind->most_bytes == 0 || each <= kind->most_bytes);
}

/* The rows of one place are row[0] to row[count - 1]. */
static enum gsr_finding_kind kind_of(const struct gsr_model *model, struct gsr_places *places, const size_t *row,
				     size_t count)
{
	bool waits = false;
	uint64_t each = 0;

	for (size_t at = 0; at < count; at++) {
		waits |= row_waits(model, row[at]);
		if (bytes_each(model, row[at]) > each)
			each = bytes_each(model, row[at]);
	}
	for (size_t i = 0; waits && i < COUNT_OF(marks); i++)
		for (size_t at = 0; at < count; at++)
			if (mark_fits(model, places, &marks[i], GSR_CELL(model, waits, stack, row[at])))
				return marks[i].finding;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		for (size_t at = 0; at < count; at++)
			if (kind_fits(model, &kinds[i], row[at], waits, each))
				return kinds[i].finding;
	return GSR_FINDING_OTHER;
}

/* Whether a list of names, joined by ", ", has this one: cuStreamSynchronize is not in cuStreamSynchronize_ptsz. */
static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)) != NULL; at++)
		if ((at == names || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
			return true;
	return false;
}

static void function_add(char **functions, const char *name)
{
	size_t length = *functions == NULL ? 0 : strlen(*functions);

	if (length > 0 && is_listed(*functions, name))
		return;
	*functions = or_end(realloc(*functions, length + strlen(name) + 3));
	strcpy(*functions + length, length > 0 ? ", " : "");
	strcat(*functions, name);
}

static uint64_t launches_of(const struct gsr_model *model)
{
	const cJSON *function;
	uint64_t launches = 0;

	cJSON_ArrayForEach(function, model->functions)
	{
		if (strcmp(gsr_text(function, GS_KEY(functions, layer)), "driver") == 0 &&
		    (strcmp(gsr_text(function, GS_KEY(functions, class)), "launch") == 0 ||
		     strcmp(gsr_text(function, GS_KEY(functions, class)), "graph_launch") == 0))
			launches += gsr_count(function, GS_KEY(functions, calls));
	}
	return launches;
}

static bool in_loop(const struct gsr_model *model, const size_t *row, size_t count, uint64_t launches)
{
	for (size_t at = 0; at < count; at++) {
		uint64_t first = GSR_CELL(model, waits, first_launch, row[at]);
		uint64_t last = GSR_CELL(model, waits, last_launch, row[at]);

		if (launches == 0 ? GSR_CELL(model, waits, calls, row[at]) >= GS_SNAP_LOOP_CALLS
				  : GSR_CELL(model, waits, apart, row[at]) >= GS_SNAP_LOOP_CALLS &&
					    (last >= LAST_PART(launches) || last - first >= GOOD_PART(launches)))
			return true;
	}
	return false;
}

/* Waits by name, and what they found. */
static void waits_judge(const struct gsr_model *model, const size_t *row, size_t count, struct gsr_finding *finding)
{
	uint64_t waits = 0, clear = 0, copies = 0;

	for (size_t at = 0; at < count; at++) {
		bool by_name = strcmp(GSR_NAME(model, waits, class, row[at]), "sync") == 0;

		finding->drained += GSR_CELL(model, waits, drained, row[at]);
		finding->idle_ns += GSR_CELL(model, waits, idle_ns, row[at]);
		finding->followed += GSR_CELL(model, waits, followed, row[at]);
		copies += !by_name && row_waits(model, row[at]);
		if (!by_name)
			continue;
		waits += GSR_CELL(model, waits, calls, row[at]);
		clear += GSR_CELL(model, waits, clear, row[at]);
		finding->clear_ns += GSR_CELL(model, waits, clear_ns, row[at]);
	}
	finding->clear = copies == 0 && waits > 0 && clear >= waits;
	finding->timely = copies == 0 && waits > clear &&
			  finding->drained + finding->followed >= (waits - clear) - (waits - clear) / 10 &&
			  finding->idle_ns < finding->host_ns / TIMELY_SHARE;
}

/* Kinds that are normal when something is new. */
static bool loads(enum gsr_finding_kind kind)
{
	return kind == GSR_FINDING_LOAD || kind == GSR_FINDING_AUTOTUNE;
}

/* Launches at the line of the stack: how many kernels, and the names of a few. */
static size_t kernels_of(const struct gsr_model *model, struct gsr_places *places, uint64_t stack, char **ret_names)
{
	uint64_t line = gsr_places_line(places, stack), seen[64];
	size_t count = 0;

	*ret_names = NULL;
	for (size_t row = 0; row < GSR_ROWS(model, kernels) && count < COUNT_OF(seen); row++) {
		uint64_t name = GSR_CELL(model, kernels, name, row);
		char text[GSR_CELL_BYTES];
		bool known = false;

		if (strcmp(GSR_NAME(model, kernels, kind, row), "kernel") != 0 ||
		    gsr_places_line(places, GSR_CELL(model, kernels, stack, row)) != line)
			continue;
		for (size_t i = 0; i < count; i++)
			known |= seen[i] == name;
		if (known)
			continue;
		seen[count++] = name;
		if (count <= KERNELS_NAMED)
			function_add(ret_names, gsr_kernel_text(model, name, text));
	}
	return count;
}

/* It goes on in the last part of the program and over a good part of it, rather than once for each new thing. */
static bool late(const struct gsr_model *model, const size_t *row, size_t count, uint64_t launches)
{
	for (size_t at = 0; at < count; at++) {
		uint64_t first = GSR_CELL(model, waits, first_launch, row[at]);
		uint64_t last = GSR_CELL(model, waits, last_launch, row[at]);

		if (GSR_CELL(model, waits, late, row[at]) >= GS_SNAP_LOOP_CALLS && last >= LAST_PART(launches) &&
		    last - first >= GOOD_PART(launches))
			return true;
	}
	return false;
}

/* Waits by name after which the time between events is asked for: measuring, and with many kernels at the line, trying out. */
static void timing_judge(const struct gsr_model *model, const size_t *row, size_t count, struct gsr_finding *finding)
{
	uint64_t calls = 0, timed = 0;

	if (finding->kind != GSR_FINDING_DEVICE && finding->kind != GSR_FINDING_STREAM && finding->kind != GSR_FINDING_EVENT)
		return;
	for (size_t at = 0; at < count; at++) {
		calls += GSR_CELL(model, waits, calls, row[at]);
		timed += GSR_CELL(model, waits, timed, row[at]);
	}
	if (timed == 0 || timed < calls / 2)
		return;
	finding->kind = finding->tried >= TRIED_LEAST && timed >= TRIED_LEAST ? GSR_FINDING_AUTOTUNE : GSR_FINDING_TIMING;
}

/* How often the program came by: one pass calls several functions (a copy, and the wait for it), each of them by whatever stack. */
static uint64_t calls_of(const struct gsr_model *model, const size_t *row, size_t count)
{
	uint64_t functions[16], calls[16], most = 0;
	size_t known = 0;

	for (size_t at = 0; at < count; at++) {
		uint64_t function = GSR_CELL(model, waits, function, row[at]);
		size_t which = 0;

		while (which < known && functions[which] != function)
			which++;
		if (which == sizeof(calls) / sizeof(calls[0]))
			continue;
		if (which == known) {
			functions[known] = function;
			calls[known++] = 0;
		}
		calls[which] += GSR_CELL(model, waits, calls, row[at]);
		if (calls[which] > most)
			most = calls[which];
	}
	return most;
}

static void finding_make(const struct gsr_model *model, struct gsr_places *places, const size_t *row, size_t count,
			 uint64_t launches, struct gsr_finding *finding)
{
	const char *memory = NULL;

	memset(finding, 0, sizeof(*finding));
	for (size_t at = 0; at < count; at++) {
		uint64_t calls = GSR_CELL(model, waits, calls, row[at]);
		uint64_t longest_ns = GSR_CELL(model, waits, longest_ns, row[at]);
		const char *of_row = GSR_NAME(model, waits, memory, row[at]);

		finding->host_ns += GSR_CELL(model, waits, host_ns, row[at]);
		if (longest_ns > finding->longest_ns)
			finding->longest_ns = longest_ns;
		if (GSR_CELL(model, waits, size_bytes, row[at]) > 0) {
			finding->copies += calls;
			finding->size_bytes += GSR_CELL(model, waits, size_bytes, row[at]);
			memory = memory == NULL || strcmp(memory, of_row) == 0 ? of_row : "none";
		}
		function_add(&finding->functions, gsr_string(model, GSR_CELL(model, waits, function, row[at])));
	}
	finding->calls = calls_of(model, row, count);
	finding->stack = GSR_CELL(model, waits, stack, row[0]);
	finding->memory = memory == NULL || strcmp(memory, "none") == 0 ? "" : memory;
	finding->kind = kind_of(model, places, row, count);
	finding->tried = kernels_of(model, places, finding->stack, &finding->kernels);
	timing_judge(model, row, count, finding);
	waits_judge(model, row, count, finding);
	finding->timely &= finding->kind == GSR_FINDING_DEVICE || finding->kind == GSR_FINDING_STREAM ||
			   finding->kind == GSR_FINDING_EVENT;
	finding->problem = gsr_finding_texts[finding->kind].problem && in_loop(model, row, count, launches) &&
			   (!loads(finding->kind) || late(model, row, count, launches)) &&
			   !finding->clear && !finding->timely && finding->calls > 0 &&
			   (finding->host_ns - finding->clear_ns) / finding->calls >= PRICE_NS;
}

/* --- in order ----------------------------------------------------------------------------------------------------- */

struct placed {
	uint64_t line, family, host_ns;
	size_t row;
};

/* Copies and the waits for them belong together; other classes each stand for themselves. */
static uint64_t family_of(const struct gsr_model *model, size_t row)
{
	const char *call_class = GSR_NAME(model, waits, class, row);

	if (strcmp(call_class, "sync") == 0 || strncmp(call_class, "copy", strlen("copy")) == 0)
		return UINT64_MAX;
	return GSR_CELL(model, waits, class, row);
}

static int by_line(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->host_ns != b->host_ns)
		return a->host_ns > b->host_ns ? -1 : 1;
	return a->row < b->row ? -1 : 1;
}

static int by_price(const void *left, const void *right)
{
	const struct gsr_finding *a = left, *b = right;

	if (a->problem != b->problem)
		return a->problem ? -1 : 1;
	if (a->clear != b->clear)
		return a->clear ? 1 : -1;
	if (a->host_ns != b->host_ns)
		return a->host_ns > b->host_ns ? -1 : 1;
	return a->stack < b->stack ? -1 : 1;
}

/* The rows that have a stack, those of one line together. Returns their number. */
static size_t rows_by_line(const struct gsr_model *model, struct gsr_places *places, struct gsr_findings *findings,
			   size_t *row)
{
	struct placed *placed = or_end(calloc(GSR_ROWS(model, waits) + 1, sizeof(*placed)));
	size_t count = 0;

	for (size_t at = 0; at < GSR_ROWS(model, waits); at++) {
		uint64_t stack = GSR_CELL(model, waits, stack, at), host_ns = GSR_CELL(model, waits, host_ns, at);

		findings->host_ns += host_ns;
		findings->idle_ns += GSR_CELL(model, waits, idle_ns, at);
		if (stack != 0)
			placed[count++] = (struct placed){gsr_places_line(places, stack), family_of(model, at), host_ns, at};
	}
	qsort(placed, count, sizeof(*placed), by_line);
	for (size_t i = 0; i < count; i++)
		row[i] = placed[i].row;
	free(placed);
	return count;
}

static bool same_place(const struct gsr_model *model, struct gsr_places *places, size_t row, size_t other)
{
	return gsr_places_line(places, GSR_CELL(model, waits, stack, row)) ==
		       gsr_places_line(places, GSR_CELL(model, waits, stack, other)) &&
	       family_of(model, row) == family_of(model, other);
}

/* One for each line of the default stream. */
static void serialised_add(const struct gsr_model *model, struct gsr_places *places, struct gsr_findings *findings)
{
	size_t first = findings->count;

	for (size_t row = 0; row < GSR_ROWS(model, crossings); row++) {
		uint64_t stack = GSR_CELL(model, crossings, stack, row), calls = GSR_CELL(model, crossings, calls, row);
		size_t at = first;

		if (strcmp(GSR_NAME(model, crossings, kind, row), "serialised") != 0)
			continue;
		while (at < findings->count && gsr_places_line(places, findings->findings[at].stack) != gsr_places_line(places, stack))
			at++;
		if (at == findings->count)
			findings->findings[findings->count++] =
				(struct gsr_finding){.kind = GSR_FINDING_DEFAULT, .stack = stack, .memory = ""};
		findings->findings[at].calls += calls;
		findings->findings[at].problem = findings->findings[at].calls >= GS_SNAP_LOOP_CALLS;
		function_add(&findings->findings[at].functions, gsr_string(model, GSR_CELL(model, crossings, name, row)));
	}
}

void gsr_findings_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_findings *ret_findings)
{
	size_t *row = or_end(calloc(GSR_ROWS(model, waits) + 1, sizeof(*row))), count, next;
	uint64_t launches = launches_of(model);

	memset(ret_findings, 0, sizeof(*ret_findings));
	count = rows_by_line(model, places, ret_findings, row);
	ret_findings->findings = or_end(calloc(count + GSR_ROWS(model, crossings) + 1, sizeof(struct gsr_finding)));
	for (size_t at = 0; at < count; at = next) {
		for (next = at + 1; next < count && same_place(model, places, row[at], row[next]); next++)
			;
		finding_make(model, places, &row[at], next - at, launches, &ret_findings->findings[ret_findings->count++]);
	}
	serialised_add(model, places, ret_findings);
	qsort(ret_findings->findings, ret_findings->count, sizeof(struct gsr_finding), by_price);
	free(row);
}

void gsr_findings_drop(struct gsr_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->findings[i].functions);
		free(findings->findings[i].kernels);
	}
	free(findings->findings);
}

const char *gsr_finding_advice(const struct gsr_model *model, const struct gsr_finding *finding)
{
	const cJSON *settings = cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, settings));

	if (finding->kind == GSR_FINDING_HOST_MEMORY && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(settings, "pinned_cache")))
		return "pin it once, outside the loop, and let blocks of one size be used again";
	if (strcmp(gsr_text(settings, "backend"), "vmm") == 0 && finding->kind == GSR_FINDING_ALLOC)
		return "here the cache has to grow: allocate the largest sizes first, or outside the loop; purge_ms:0 lets it keep what it has";
	if (strcmp(gsr_text(settings, "backend"), "vmm") == 0 && finding->kind == GSR_FINDING_FREE)
		return "free outside the loop";
	return gsr_finding_texts[finding->kind].advice;
}

void gsr_finding_json(const struct gsr_finding *finding, cJSON *object)
{
	cJSON_AddStringToObject(object, "kind", gsr_finding_texts[finding->kind].key);
	cJSON_AddBoolToObject(object, "problem", finding->problem);
	cJSON_AddStringToObject(object, "functions", finding->functions);
	cJSON_AddNumberToObject(object, "calls", (double)finding->calls);
	cJSON_AddNumberToObject(object, "host_ns", (double)finding->host_ns);
	cJSON_AddNumberToObject(object, "longest_ns", (double)finding->longest_ns);
	cJSON_AddBoolToObject(object, "clear", finding->clear);
	cJSON_AddBoolToObject(object, "timely", finding->timely);
	cJSON_AddNumberToObject(object, "clear_ns", (double)finding->clear_ns);
	cJSON_AddNumberToObject(object, "drained", (double)finding->drained);
	cJSON_AddNumberToObject(object, "idle_ns", (double)finding->idle_ns);
	cJSON_AddNumberToObject(object, "followed", (double)finding->followed);
	cJSON_AddNumberToObject(object, "copies", (double)finding->copies);
	cJSON_AddNumberToObject(object, "size_bytes", (double)finding->size_bytes);
	cJSON_AddStringToObject(object, "memory", finding->memory);
}
