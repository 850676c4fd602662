/* See steps.h. */
#include "report/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/verdict.h"

/* A step this much longer than the median, in percent of it, is told. */
#define LONG_PERCENT 150
#define LONG_MOST    5

/* What may make a step longer. Those with a price come with it. */
static const struct figure {
	int count, price; /* columns of steps; -1 = none */
	const char *text, *text_one;
	bool bytes;
} figures[] = {
	{GS_SNAP_steps_launches, GS_SNAP_steps_launch_ns, "launches", "launch", false},
	{-1, GS_SNAP_steps_queue_ns, "waiting for room in the queue, or for code", NULL, false},
	{GS_SNAP_steps_waits, GS_SNAP_steps_wait_ns, "waits", "wait", false},
	{GS_SNAP_steps_memory_calls, GS_SNAP_steps_memory_ns, "slow calls for memory", "slow call for memory", false},
	{GS_SNAP_steps_loads, GS_SNAP_steps_load_ns, "loads of code", "load of code", false},
	{GS_SNAP_steps_to_device_bytes, -1, "copied to the device", NULL, true},
	{GS_SNAP_steps_to_host_bytes, -1, "copied to the host", NULL, true},
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static uint64_t step_cell(const struct gsr_model *model, size_t row, int column)
{
	return GSR_TABLE(model, steps)->column[column][row];
}

static bool is_shown(const struct gsr_model *model, size_t loop)
{
	return strcmp(GSR_NAME(model, loops, kind, loop), "inner") != 0 &&
	       GSR_CELL(model, loops, steps, loop) >= GSR_STEPS_LEAST;
}

static bool is_marked(const struct gsr_model *model, size_t loop)
{
	return strcmp(GSR_NAME(model, loops, kind, loop), "marked") == 0;
}

static bool comes_first(const struct gsr_model *model, size_t loop, size_t other)
{
	if (is_marked(model, loop) != is_marked(model, other))
		return is_marked(model, loop);
	return GSR_CELL(model, loops, wall_ns, loop) > GSR_CELL(model, loops, wall_ns, other);
}

bool gsr_steps_main(const struct gsr_model *model, size_t *ret_loop)
{
	bool found = false;

	for (size_t loop = 0; loop < GSR_ROWS(model, loops); loop++) {
		if (!is_shown(model, loop) || (found && !comes_first(model, loop, *ret_loop)))
			continue;
		*ret_loop = loop;
		found = true;
	}
	return found;
}

/* --- steps of one loop ------------------------------------------------------------------------------------------- */

struct loop_steps {
	size_t *row; /* of steps; those that took longest first */
	size_t count;
	uint64_t typical[GS_SNAP_steps_COLUMNS]; /* medians */
};

static const struct gsr_model *sorted; /* for the comparisons */

static int by_wall(const void *left, const void *right)
{
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint64_t wall = GSR_CELL(sorted, steps, wall_ns, a), other = GSR_CELL(sorted, steps, wall_ns, b);

	return wall != other ? (wall > other ? -1 : 1) : a < b ? -1 : 1;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void steps_read(const struct gsr_model *model, size_t loop, struct loop_steps *ret_steps)
{
	size_t rows = GSR_ROWS(model, steps), count = 0;
	size_t *row = calloc(rows + 1, sizeof(*row));
	uint64_t *values = calloc(rows + 1, sizeof(*values));

	if (row == NULL || values == NULL)
		abort();
	for (size_t at = 0; at < rows; at++)
		if (GSR_CELL(model, steps, loop, at) == loop)
			row[count++] = at;
	for (int column = 0; column < (int)GS_SNAP_steps_COLUMNS; column++) {
		for (size_t at = 0; at < count; at++)
			values[at] = step_cell(model, row[at], column);
		qsort(values, count, sizeof(*values), by_value);
		ret_steps->typical[column] = count > 0 ? values[count / 2] : 0;
	}
	sorted = model;
	qsort(row, count, sizeof(*row), by_wall);
	free(values);
	ret_steps->row = row;
	ret_steps->count = count;
}

static bool is_long(const struct gsr_model *model, size_t loop, size_t row)
{
	return GSR_CELL(model, steps, wall_ns, row) / LONG_PERCENT > GSR_CELL(model, loops, median_ns, loop) / 100;
}

/* "2 slow calls for memory (860.00 ms)": the first when they are more than usual, the second when it is much. */
static void difference_add(const struct gsr_model *model, size_t row, const struct loop_steps *steps,
			   const struct figure *figure, char *text, size_t capacity)
{
	uint64_t count = figure->count < 0 ? 0 : step_cell(model, row, figure->count);
	uint64_t price = figure->price < 0 ? 0 : step_cell(model, row, figure->price);
	uint64_t usual = figure->count < 0 ? 0 : steps->typical[figure->count];
	uint64_t usual_price = figure->price < 0 ? 0 : steps->typical[figure->price];
	uint64_t longer = GSR_CELL(model, steps, wall_ns, row) - steps->typical[GS_SNAP_steps_wall_ns];
	bool dear = price > usual_price && price - usual_price >= longer / 10;
	char number[GSR_CELL_BYTES], time[GSR_CELL_BYTES];
	size_t used = strlen(text);

	if (count <= usual && !dear)
		return;
	if (used > 0)
		used += (size_t)snprintf(text + used, capacity - used, "; ");
	if (figure->bytes)
		snprintf(text + used, capacity - used, "%s more %s", gsr_bytes(number, count - usual), figure->text);
	else if (figure->count < 0)
		snprintf(text + used, capacity - used, "%s %s", gsr_duration(time, price), figure->text);
	else if (count > usual)
		snprintf(text + used, capacity - used, "%s%s %s, %s", gsr_number(number, count - usual),
			 usual > 0 ? " more" : "", count - usual == 1 ? figure->text_one : figure->text,
			 gsr_duration(time, price - (dear ? usual_price : 0)));
	else
		snprintf(text + used, capacity - used, "%s took %s instead of %s", figure->text,
			 gsr_duration(time, price), gsr_duration(number, usual_price));
}

/* What differed in a step that took long. */
static void differences(const struct gsr_model *model, size_t row, const struct loop_steps *steps, char *text,
			size_t capacity)
{
	text[0] = '\0';
	for (size_t i = 0; i < FIGURES; i++)
		if (strlen(text) + GSR_CELL_BYTES < capacity)
			difference_add(model, row, steps, &figures[i], text, capacity);
	if (text[0] == '\0')
		snprintf(text, capacity, "nothing that CUDA calls show: the host did something else, or the device took longer");
}

/* --- as text ----------------------------------------------------------------------------------------------------- */

static char *begin_text(const struct gsr_model *model, struct gsr_places *places, size_t loop, char text[GSR_CELL_BYTES])
{
	char kernel[GSR_CELL_BYTES], place[GSR_CELL_BYTES];
	uint64_t name = GSR_CELL(model, loops, name, loop);

	gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, loops, stack, loop)), place);
	return name == 0 ? gsr_cell(text, "marked by the program, at %s", place)
			 : gsr_cell(text, "each begins with %.100s, at %s", gsr_kernel_text(model, name, kernel), place);
}

static void copies_print(const uint64_t typical[GS_SNAP_steps_COLUMNS])
{
	char to_device[GSR_CELL_BYTES], to_host[GSR_CELL_BYTES];

	if (typical[GS_SNAP_steps_to_device_bytes] + typical[GS_SNAP_steps_to_host_bytes] > 0)
		gsr_line("    copies     %s to the device, %s to the host",
			 gsr_bytes(to_device, typical[GS_SNAP_steps_to_device_bytes]),
			 gsr_bytes(to_host, typical[GS_SNAP_steps_to_host_bytes]));
}

static void price_print(const char *what, uint64_t count, uint64_t ns, const uint64_t typical[GS_SNAP_steps_COLUMNS])
{
	char number[GSR_CELL_BYTES], time[GSR_CELL_BYTES], share[GSR_CELL_BYTES];

	if (count + ns > 0)
		gsr_line("    %-10s %s, %s of host time (%s)", what, gsr_number(number, count), gsr_duration(time, ns),
			 gsr_share(share, ns, typical[GS_SNAP_steps_wall_ns]));
}

static void typical_print(const uint64_t typical[GS_SNAP_steps_COLUMNS])
{
	char time[GSR_CELL_BYTES], share[GSR_CELL_BYTES];

	price_print("launches", typical[GS_SNAP_steps_launches], typical[GS_SNAP_steps_launch_ns], typical);
	if (typical[GS_SNAP_steps_queue_ns] > 0)
		gsr_line("               of that %s waiting (%s): the queue of the device was full, or code was loaded",
			 gsr_duration(time, typical[GS_SNAP_steps_queue_ns]),
			 gsr_share(share, typical[GS_SNAP_steps_queue_ns], typical[GS_SNAP_steps_wall_ns]));
	if (typical[GS_SNAP_steps_device_ns] > 0)
		gsr_line("    device     %s on the device (%s), by samples",
			 gsr_duration(time, typical[GS_SNAP_steps_device_ns]),
			 gsr_share(share, typical[GS_SNAP_steps_device_ns], typical[GS_SNAP_steps_wall_ns]));
	price_print("waits", typical[GS_SNAP_steps_waits], typical[GS_SNAP_steps_wait_ns], typical);
	if (typical[GS_SNAP_steps_idle_ns] > 0)
		gsr_line("               after which the device had nothing to do for %s (%s), at least",
			 gsr_duration(time, typical[GS_SNAP_steps_idle_ns]),
			 gsr_share(share, typical[GS_SNAP_steps_idle_ns], typical[GS_SNAP_steps_wall_ns]));
	price_print("memory", typical[GS_SNAP_steps_memory_calls], typical[GS_SNAP_steps_memory_ns], typical);
	price_print("code", typical[GS_SNAP_steps_loads], typical[GS_SNAP_steps_load_ns], typical);
	copies_print(typical);
}

static void verdict_print(const struct gsr_model *model, const uint64_t typical[GS_SNAP_steps_COLUMNS])
{
	char text[GSR_CELL_BYTES], other[GSR_CELL_BYTES];
	struct gsr_step_time time;
	enum gsr_verdict verdict;

	gsr_step_time_read(model, typical, &time);
	verdict = gsr_verdict_of(&time);
	gsr_line("    %s: %s", gsr_verdict_texts[verdict].key, gsr_verdict_texts[verdict].title);
	gsr_line("      %s", gsr_verdict_evidence(&time, verdict, text));
	if (gsr_verdict_texts[verdict].advice[0] != '\0')
		gsr_line("      instead: %s", gsr_verdict_texts[verdict].advice);
	if (gsr_verdict_graph_ns(&time, verdict) > 0)
		gsr_line("      as one graph a step might take %s instead of %s (an estimate)",
			 gsr_duration(text, gsr_verdict_graph_ns(&time, verdict)), gsr_duration(other, time.wall));
	if (gsr_verdict_misleads(&time))
		gsr_line("      a clock on the host shows %s for a step of %s on the device: measure with events, or wait first",
			 gsr_duration(text, time.wall), gsr_duration(other, time.device));
}

static void long_print(const struct gsr_model *model, size_t loop, const struct loop_steps *steps)
{
	char number[GSR_CELL_BYTES], time[GSR_CELL_BYTES], text[4 * GSR_CELL_BYTES];

	for (size_t i = 0; i < steps->count && i < LONG_MOST && is_long(model, loop, steps->row[i]); i++) {
		if (i == 0)
			gsr_line("    long ones:");
		differences(model, steps->row[i], steps, text, sizeof(text));
		gsr_line("      step %s, %s: %s",
			 gsr_number(number, GSR_CELL(model, steps, number, steps->row[i])),
			 gsr_duration(time, GSR_CELL(model, steps, wall_ns, steps->row[i])), text);
	}
}

static void loop_print(const struct gsr_model *model, struct gsr_places *places, size_t loop)
{
	char number[GSR_CELL_BYTES], begin[GSR_CELL_BYTES], median[GSR_CELL_BYTES], p99[GSR_CELL_BYTES];
	char longest[GSR_CELL_BYTES], total[GSR_CELL_BYTES];
	struct loop_steps steps;

	steps_read(model, loop, &steps);
	gsr_line("%s", "");
	gsr_heading("%s steps of %s (median), %s", gsr_number(number, GSR_CELL(model, loops, steps, loop)),
		    gsr_duration(median, GSR_CELL(model, loops, median_ns, loop)), begin_text(model, places, loop, begin));
	gsr_line("    time       99 of 100 within %s, the longest %s, all of them %s",
		 gsr_duration(p99, GSR_CELL(model, loops, p99_ns, loop)),
		 gsr_duration(longest, GSR_CELL(model, loops, longest_ns, loop)),
		 gsr_duration(total, GSR_CELL(model, loops, wall_ns, loop)));
	typical_print(steps.typical);
	verdict_print(model, steps.typical);
	long_print(model, loop, &steps);
	free(steps.row);
}

/* The loops that are shown, the main one first. Returns their number. */
static size_t loops_list(const struct gsr_model *model, size_t *loop)
{
	size_t count = 0;

	for (size_t row = 0; row < GSR_ROWS(model, loops); row++) {
		size_t at = count;

		if (!is_shown(model, row))
			continue;
		for (; at > 0 && comes_first(model, row, loop[at - 1]); at--)
			loop[at] = loop[at - 1];
		loop[at] = row;
		count++;
	}
	return count;
}

void gsr_steps_print(const struct gsr_model *model, struct gsr_places *places, unsigned rows)
{
	size_t *loop = calloc(GSR_ROWS(model, loops) + 1, sizeof(*loop)), count;

	if (loop == NULL)
		abort();
	count = loops_list(model, loop);
	for (size_t i = 0; i < count && (rows == 0 || i < rows); i++)
		loop_print(model, places, loop[i]);
	free(loop);
}

void gsr_steps_line(const struct gsr_model *model, struct gsr_places *places)
{
	char number[GSR_CELL_BYTES], begin[GSR_CELL_BYTES], median[GSR_CELL_BYTES], p99[GSR_CELL_BYTES];
	size_t loop;

	if (!gsr_steps_main(model, &loop))
		return;
	gsr_line("%s", "");
	gsr_line("steps: %s of %s (median; 99 of 100 within %s), %s",
		 gsr_number(number, GSR_CELL(model, loops, steps, loop)),
		 gsr_duration(median, GSR_CELL(model, loops, median_ns, loop)),
		 gsr_duration(p99, GSR_CELL(model, loops, p99_ns, loop)), begin_text(model, places, loop, begin));
}

/* --- as JSON ----------------------------------------------------------------------------------------------------- */

static cJSON *long_json(const struct gsr_model *model, size_t row, const struct loop_steps *steps)
{
	cJSON *object = cJSON_CreateObject();
	char text[4 * GSR_CELL_BYTES];

	differences(model, row, steps, text, sizeof(text));
	cJSON_AddNumberToObject(object, "number", (double)GSR_CELL(model, steps, number, row));
	cJSON_AddNumberToObject(object, "wall_ns", (double)GSR_CELL(model, steps, wall_ns, row));
	cJSON_AddStringToObject(object, "differs", text);
	return object;
}

static cJSON *loop_json(const struct gsr_model *model, struct gsr_places *places, size_t loop)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_steps(GS_SNAP_COLUMN_ROW)};
	cJSON *object = cJSON_CreateObject(), *list;
	struct gsr_step_time time;
	struct loop_steps steps;
	char begin[GSR_CELL_BYTES];

	steps_read(model, loop, &steps);
	cJSON_AddStringToObject(object, "kind", GSR_NAME(model, loops, kind, loop));
	cJSON_AddStringToObject(object, "begins", begin_text(model, places, loop, begin));
	cJSON_AddNumberToObject(object, "steps", (double)GSR_CELL(model, loops, steps, loop));
	cJSON_AddNumberToObject(object, "wall_ns", (double)GSR_CELL(model, loops, wall_ns, loop));
	cJSON_AddNumberToObject(object, "median_ns", (double)GSR_CELL(model, loops, median_ns, loop));
	cJSON_AddNumberToObject(object, "p99_ns", (double)GSR_CELL(model, loops, p99_ns, loop));
	cJSON_AddNumberToObject(object, "longest_ns", (double)GSR_CELL(model, loops, longest_ns, loop));
	list = cJSON_AddObjectToObject(object, "typical");
	for (int column = GS_SNAP_steps_launches; column < (int)GS_SNAP_steps_COLUMNS; column++)
		cJSON_AddNumberToObject(list, columns[column].key, (double)steps.typical[column]);
	gsr_step_time_read(model, steps.typical, &time);
	cJSON_AddStringToObject(object, "verdict", gsr_verdict_texts[gsr_verdict_of(&time)].key);
	list = cJSON_AddArrayToObject(object, "long");
	for (size_t i = 0; i < steps.count && is_long(model, loop, steps.row[i]); i++)
		cJSON_AddItemToArray(list, long_json(model, steps.row[i], &steps));
	free(steps.row);
	return object;
}

cJSON *gsr_steps_json(const struct gsr_model *model, struct gsr_places *places)
{
	size_t *loop = calloc(GSR_ROWS(model, loops) + 1, sizeof(*loop)), count;
	cJSON *list = cJSON_CreateArray();

	if (loop == NULL)
		abort();
	count = loops_list(model, loop);
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(list, loop_json(model, places, loop[i]));
	free(loop);
	return list;
}
