/* gpushim-report merge RANKS: snapshots of the processes of one job, side by side: what each holds, and the lines at which one of them
 * holds another amount than the rest do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"

struct member {
	const char *path;
	struct gsr_usage usage;
	char rank[GSR_CELL_BYTES];
	uint64_t live_bytes, peak_bytes, held_bytes, total_bytes; /* total: of the devices it used */
	uint64_t wait_ns, elapsed_ns;
};

/* One group in one of the files. */
struct share {
	const char *name;
	int file;
	uint64_t figure;
};

struct spread {
	const char *name;
	uint64_t least, middle, most;
	int least_file, most_file;
};

struct job {
	int count;
	struct member *members;
	enum gsr_order order;
	struct spread *spreads; /* the widest first */
	size_t spread_count;
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* Takes the usage out of the view. */
static void member_read(struct gsr_view *view, struct member *ret_member)
{
	const cJSON *device;

	memset(ret_member, 0, sizeof(*ret_member));
	ret_member->path = view->path;
	gsr_rank_text(&view->model, ret_member->rank);
	ret_member->live_bytes = view->usage.sum.live_bytes;
	ret_member->peak_bytes = view->usage.sum.peak_bytes;
	ret_member->elapsed_ns = gsr_count(view->model.meta, GS_KEY(meta, elapsed_ns));
	for (size_t row = 0; row < GSR_ROWS(&view->model, waits); row++)
		ret_member->wait_ns += GSR_CELL(&view->model, waits, host_ns, row);
	cJSON_ArrayForEach(device, view->model.devices)
	{
		uint64_t held_bytes = gsr_gauge(device, "reserved_bytes", "peak");

		ret_member->held_bytes += held_bytes;
		ret_member->total_bytes += held_bytes > 0 ? gsr_count(device, GS_KEY(devices, total_bytes)) : 0;
	}
	ret_member->usage = view->usage;
	memset(&view->usage, 0, sizeof(view->usage));
}

/* --- spreads ----------------------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
	const struct share *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	return a->figure != b->figure ? (a->figure < b->figure ? -1 : 1) : a->file - b->file;
}

static int by_width(const void *left, const void *right)
{
	const struct spread *a = left, *b = right;
	uint64_t of_a = a->most - a->least, of_b = b->most - b->least;

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A file that is in no share of the name: it has nothing there. */
static int file_without(const struct share *shares, size_t count, int files)
{
	for (int file = 0; file < files; file++) {
		size_t at = 0;

		while (at < count && shares[at].file != file)
			at++;
		if (at == count)
			return file;
	}
	return 0;
}

/* shares: of one name, the smallest first, at most one a file; files that are missing have nothing. */
static struct spread spread_of(const struct share *shares, size_t count, int files)
{
	size_t missing = (size_t)files - count, middle = (size_t)files / 2;
	struct spread spread = {.name = shares[0].name,
				.middle = middle < missing ? 0 : shares[middle - missing].figure,
				.most = shares[count - 1].figure,
				.most_file = shares[count - 1].file,
				.least = missing > 0 ? 0 : shares[0].figure,
				.least_file = missing > 0 ? file_without(shares, count, files) : shares[0].file};

	return spread;
}

static void spreads_read(struct job *job)
{
	struct share *shares;
	size_t count = 0, next;

	for (int file = 0; file < job->count; file++)
		count += job->members[file].usage.count;
	shares = or_end(calloc(count + 1, sizeof(*shares)));
	job->spreads = or_end(calloc(count + 1, sizeof(*job->spreads)));
	count = 0;
	for (int file = 0; file < job->count; file++)
		for (size_t i = 0; i < job->members[file].usage.count; i++) {
			const struct gsr_group *group = &job->members[file].usage.groups[i];

			shares[count++] = (struct share){group->name, file, gsr_use_figure(&group->use, job->order)};
		}
	qsort(shares, count, sizeof(*shares), by_name);
	for (size_t at = 0; at < count; at = next) {
		struct spread spread;
		size_t kept = at;

		/* two groups of one name in a file: stacks that begin alike */
		for (next = at + 1; next < count && strcmp(shares[at].name, shares[next].name) == 0; next++) {
			size_t same = at;

			while (same <= kept && shares[same].file != shares[next].file)
				same++;
			if (same <= kept)
				shares[same].figure += shares[next].figure;
			else
				shares[++kept] = shares[next];
		}
		qsort(&shares[at], kept - at + 1, sizeof(*shares), by_name);
		spread = spread_of(&shares[at], kept - at + 1, job->count);
		if (spread.most > spread.least)
			job->spreads[job->spread_count++] = spread;
	}
	qsort(job->spreads, job->spread_count, sizeof(*job->spreads), by_width);
	free(shares);
}

/* --- what is printed --------------------------------------------------------------------------------------------- */

static char *figure_text(const struct job *job, uint64_t figure, char text[GSR_CELL_BYTES])
{
	return gsr_order_is_bytes(job->order) ? gsr_bytes(text, figure) : gsr_number(text, figure);
}

static void members_print(const struct job *job)
{
	static const char *const heads[] = {"RANK", "LIVE", "AT PEAK", "HELD", "%", "WAITED", "%", "FILE"};
	struct gsr_grid *grid = gsr_grid_new(heads, 8);
	char cells[6][GSR_CELL_BYTES];

	for (int i = 0; i < job->count; i++) {
		const struct member *member = &job->members[i];

		gsr_grid_row(grid, (const char *const[]){member->rank, gsr_bytes(cells[0], member->live_bytes),
							 gsr_bytes(cells[1], member->peak_bytes),
							 gsr_bytes(cells[2], member->held_bytes),
							 gsr_share(cells[3], member->held_bytes, member->total_bytes),
							 gsr_duration(cells[4], member->wait_ns),
							 gsr_share(cells[5], member->wait_ns, member->elapsed_ns),
							 member->path});
	}
	gsr_grid_print(grid);
}

static void spreads_print(const struct job *job, const struct gsr_options *options)
{
	const char *const heads[] = {"SPREAD", "LEAST", "MEDIAN", "MOST", "RANK OF MOST", gsr_group_head(options->by)};
	size_t shown = options->rows != 0 && options->rows < job->spread_count ? options->rows : job->spread_count;
	char cells[4][GSR_CELL_BYTES];
	struct gsr_grid *grid;

	gsr_line("%s", "");
	if (job->spread_count == 0) {
		gsr_line("No %s differs between them in %s.", options->by == GSR_BY_LINE ? "line" : "group", gsr_order_text(job->order));
		return;
	}
	gsr_heading("What differs most in %s:", gsr_order_text(job->order));
	grid = gsr_grid_new(heads, 6);
	for (size_t i = 0; i < shown; i++) {
		const struct spread *spread = &job->spreads[i];

		gsr_grid_row(grid, (const char *const[]){figure_text(job, spread->most - spread->least, cells[0]),
							 figure_text(job, spread->least, cells[1]),
							 figure_text(job, spread->middle, cells[2]),
							 figure_text(job, spread->most, cells[3]),
							 job->members[spread->most_file].rank, spread->name});
	}
	gsr_grid_print(grid);
	if (shown < job->spread_count)
		gsr_line("... and %zu more (-n 0 shows all)", job->spread_count - shown);
}

static void json_print(const struct job *job, const struct gsr_options *options)
{
	cJSON *object = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(object, "ranks");

	for (int i = 0; i < job->count; i++) {
		const struct member *member = &job->members[i];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "rank", member->rank);
		cJSON_AddStringToObject(row, "file", member->path);
		cJSON_AddNumberToObject(row, "live_bytes", (double)member->live_bytes);
		cJSON_AddNumberToObject(row, "peak_bytes", (double)member->peak_bytes);
		cJSON_AddNumberToObject(row, "held_peak_bytes", (double)member->held_bytes);
		cJSON_AddNumberToObject(row, "wait_ns", (double)member->wait_ns);
		cJSON_AddNumberToObject(row, "elapsed_ns", (double)member->elapsed_ns);
		cJSON_AddItemToArray(list, row);
	}
	cJSON_AddStringToObject(object, "figure", gsr_order_text(job->order));
	list = cJSON_AddArrayToObject(object, "rows");
	for (size_t i = 0; i < job->spread_count && (options->rows == 0 || i < options->rows); i++) {
		const struct spread *spread = &job->spreads[i];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", spread->name);
		cJSON_AddNumberToObject(row, "least", (double)spread->least);
		cJSON_AddNumberToObject(row, "median", (double)spread->middle);
		cJSON_AddNumberToObject(row, "most", (double)spread->most);
		cJSON_AddStringToObject(row, "least_rank", job->members[spread->least_file].rank);
		cJSON_AddStringToObject(row, "most_rank", job->members[spread->most_file].rank);
		cJSON_AddItemToArray(list, row);
	}
	gsr_json_print(object);
}

int gsr_merge(char *const *words, int count, const struct gsr_options *options)
{
	struct job job = {.order = options->order};
	bool whole = true;

	job.members = or_end(calloc((size_t)count, sizeof(*job.members)));
	while (whole && job.count < count) {
		struct gsr_view view;

		whole = gsr_view_load(words[job.count], options, &view) == GSR_FINE;
		if (!whole)
			break;
		member_read(&view, &job.members[job.count++]);
		gsr_view_drop(&view);
	}
	if (whole) {
		uint64_t live_bytes = 0;

		for (int i = 0; i < count; i++)
			live_bytes += job.members[i].live_bytes;
		if (job.order == GSR_ORDER_BEST)
			job.order = live_bytes > 0 ? GSR_ORDER_LIVE : GSR_ORDER_PEAK;
		spreads_read(&job);
		if (options->json) {
			json_print(&job, options);
		} else {
			members_print(&job);
			if (count == 1)
				gsr_line("one file only: there is nothing to set beside it");
			spreads_print(&job, options);
		}
	}
	for (int i = 0; i < job.count; i++)
		gsr_usage_drop(&job.members[i].usage);
	free(job.spreads);
	free(job.members);
	return whole ? GSR_FINE : GSR_UNUSABLE;
}
