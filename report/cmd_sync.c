/* gpushim-report sync: where the host waited for a device, what it cost and what to do instead. */
#include <string.h>

#include "report/command.h"
#include "report/finding.h"
#include "report/hazard.h"
#include "report/steps.h"
#include "report/transfer.h"

/* Places that took less than one in this many of the time the process ran are not told one by one. */
#define SMALL_SHARE 1000u

static uint64_t elapsed_ns(const struct gsr_model *model)
{
	return gsr_count(model->meta, GS_KEY(meta, elapsed_ns));
}

static bool shown(const struct gsr_model *model, const struct gsr_finding *finding, size_t index,
		  const struct gsr_options *options)
{
	if (options->rows == 0)
		return true;
	return index < options->rows &&
	       (finding->host_ns >= elapsed_ns(model) / SMALL_SHARE || (finding->problem && finding->host_ns == 0));
}

static void copies_print(const struct gsr_finding *finding)
{
	char bytes[GSR_CELL_BYTES], each[GSR_CELL_BYTES];

	if (finding->copies == 0)
		return;
	gsr_line("            copied %s in all, %s each%s%s%s", gsr_bytes(bytes, finding->size_bytes),
		 gsr_bytes(each, finding->size_bytes / finding->copies), finding->memory[0] != '\0' ? ", " : "",
		 finding->memory, finding->memory[0] != '\0' ? " host memory" : "");
}

static void idle_print(const struct gsr_finding *finding)
{
	char count[GSR_CELL_BYTES], idle[GSR_CELL_BYTES], each[GSR_CELL_BYTES];

	if (finding->clear)
		gsr_line("            nothing was left to wait for: everything was known to be done");
	if (finding->followed > 0)
		gsr_line("            the device had more to do afterwards: %s waits were for an event with work queued behind it",
			 gsr_number(count, finding->followed));
	if (finding->drained == 0)
		return;
	gsr_line("            device idle afterwards: at least %s in all, %s after each of %s waits%s",
		 gsr_duration(idle, finding->idle_ns), gsr_duration(each, finding->idle_ns / finding->drained),
		 gsr_number(count, finding->drained),
		 finding->timely ? "; it was busy up to then, and again at once" : "");
}

/* What it is to a step of the main loop, where it comes about as often as that goes round, or more often. */
static void step_print(const struct gsr_model *model, const struct gsr_finding *finding)
{
	char number[GSR_CELL_BYTES], time[GSR_CELL_BYTES], whole[GSR_CELL_BYTES];
	uint64_t steps, step_ns, each_ns;
	size_t loop;

	if (!finding->problem || !gsr_steps_main(model, &loop))
		return;
	steps = GSR_CELL(model, loops, steps, loop);
	if (steps == 0 || finding->calls < steps / 2)
		return;
	step_ns = GSR_CELL(model, loops, wall_ns, loop) / steps;
	each_ns = finding->host_ns / steps;
	gsr_number(number, (finding->calls + steps / 2) / steps);
	if (each_ns <= step_ns)
		gsr_line("            about %s in a step, %s of the %s that it takes on average", number, gsr_duration(time, each_ns),
			 gsr_duration(whole, step_ns));
	else /* also outside of steps, or from several threads at once */
		gsr_line("            about %s in a step", number);
}

static void kernels_print(const struct gsr_finding *finding)
{
	char count[GSR_CELL_BYTES];

	if ((finding->kind == GSR_FINDING_AUTOTUNE || finding->kind == GSR_FINDING_LOAD) && finding->tried > 0)
		gsr_line("            kernels launched from this line: %s (%s%s)", gsr_number(count, finding->tried),
			 finding->kernels, finding->tried > 3 ? ", .." : "");
}

static void finding_print(const struct gsr_model *model, struct gsr_places *places, const struct gsr_finding *finding)
{
	const struct gsr_finding_text *text = &gsr_finding_texts[finding->kind];
	const char *advice = gsr_finding_advice(model, finding);
	char time[GSR_CELL_BYTES], share[GSR_CELL_BYTES], place[GSR_CELL_BYTES], calls[GSR_CELL_BYTES];
	char each[GSR_CELL_BYTES], longest[GSR_CELL_BYTES];

	gsr_line("%s", "");
	gsr_heading("%10s  %s", gsr_duration(time, finding->host_ns),
		    gsr_frame_text(places, gsr_places_line(places, finding->stack), place));
	gsr_line("%10s  %s", gsr_share(share, finding->host_ns, elapsed_ns(model)), text->title);
	if (finding->calls > 1 && finding->longest_ns >= finding->host_ns / finding->calls)
		gsr_line("            %s times, %s each, the longest %s; %s", gsr_number(calls, finding->calls),
			 gsr_duration(each, finding->host_ns / finding->calls),
			 gsr_duration(longest, finding->longest_ns), finding->functions);
	else if (finding->calls > 1) /* each time with several calls, a copy and the wait for it, say */
		gsr_line("            %s times, %s each; %s", gsr_number(calls, finding->calls),
			 gsr_duration(each, finding->host_ns / finding->calls), finding->functions);
	else
		gsr_line("            once; %s", finding->functions);
	step_print(model, finding);
	copies_print(finding);
	idle_print(finding);
	kernels_print(finding);
	if (finding->problem && advice[0] != '\0')
		gsr_line("            instead: %s", advice);
	else if (!text->problem && advice[0] != '\0')
		gsr_line("            %s", advice);
}

static void rest_print(const struct gsr_model *model, const struct gsr_findings *findings,
		       const struct gsr_options *options)
{
	char count[GSR_CELL_BYTES], time[GSR_CELL_BYTES];
	uint64_t host_ns = 0;
	size_t rest = 0;

	for (size_t i = 0; i < findings->count; i++)
		if (!shown(model, &findings->findings[i], i, options)) {
			host_ns += findings->findings[i].host_ns;
			rest++;
		}
	if (rest == 0)
		return;
	gsr_line("%s", "");
	gsr_line("%s more places with %s in all (-n 0 shows them)", gsr_number(count, rest), gsr_duration(time, host_ns));
}

/* Host time in calls that take or give back memory. */
static uint64_t memory_ns(const struct gsr_model *model)
{
	static const char *const classes[] = {"alloc", "free", "host_alloc", "host_free"};
	uint64_t host_ns = 0;

	for (size_t row = 0; row < GSR_ROWS(model, waits); row++)
		for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
			if (strcmp(GSR_NAME(model, waits, class, row), classes[i]) == 0)
				host_ns += GSR_CELL(model, waits, host_ns, row);
	return host_ns;
}

static void sync_print(const char *path, const struct gsr_model *model, struct gsr_places *places,
		       const struct gsr_findings *findings, const struct gsr_options *options)
{
	char time[GSR_CELL_BYTES], share[GSR_CELL_BYTES], elapsed[GSR_CELL_BYTES], count[GSR_CELL_BYTES];
	bool normal_said = false;

	gsr_print_title(path, model);
	if (GSR_ROWS(model, waits) == 0) {
		const char *why = gsr_waits_missing(model);

		gsr_line("no waits were recorded: %s", why != NULL ? why : "the host never waited long enough to be noticed");
		return;
	}
	gsr_line("the host waited %s (%s of %s) in %s; times are the host's, inside the calls",
		 gsr_duration(time, findings->host_ns), gsr_share(share, findings->host_ns, elapsed_ns(model)),
		 gsr_duration(elapsed, elapsed_ns(model)),
		 gsr_cell(count, "%zu place%s", findings->count, findings->count == 1 ? "" : "s"));
	if (memory_ns(model) > 0)
		gsr_line("of that, %s were in calls for memory, which need not wait for the device",
			 gsr_duration(time, memory_ns(model)));
	if (findings->idle_ns > 0)
		gsr_line("the device had nothing to do for at least %s (%s) afterwards: from the end of a wait to the next launch",
			 gsr_duration(time, findings->idle_ns), gsr_share(share, findings->idle_ns, elapsed_ns(model)));
	gsr_hazards_print(model, places);
	for (size_t i = 0; i < findings->count; i++) {
		const struct gsr_finding *finding = &findings->findings[i];

		if (!shown(model, finding, i, options))
			continue;
		if (!finding->problem && !normal_said) {
			gsr_line("%s", "");
			gsr_line("normal by themselves, or not part of what is done again and again:");
			normal_said = true;
		}
		finding_print(model, places, finding);
	}
	rest_print(model, findings, options);
	gsr_transfers_print(model);
}

static cJSON *finding_json(struct gsr_places *places, const struct gsr_finding *finding)
{
	cJSON *object = cJSON_CreateObject();
	char place[GSR_CELL_BYTES];

	cJSON_AddStringToObject(object, "place",
				gsr_frame_text(places, gsr_places_line(places, finding->stack), place));
	gsr_finding_json(finding, object);
	return object;
}

static void sync_json(const char *path, const struct gsr_model *model, struct gsr_places *places,
		      const struct gsr_findings *findings)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddNumberToObject(object, "elapsed_ns", (double)elapsed_ns(model));
	cJSON_AddNumberToObject(object, "host_ns", (double)findings->host_ns);
	cJSON_AddNumberToObject(object, "idle_ns", (double)findings->idle_ns);
	list = cJSON_AddArrayToObject(object, "findings");
	for (size_t i = 0; i < findings->count; i++)
		cJSON_AddItemToArray(list, finding_json(places, &findings->findings[i]));
	cJSON_AddItemToObject(object, "hazards", gsr_hazards_json(model, places));
	cJSON_AddItemToObject(object, "transfers", gsr_transfers_json(model));
	gsr_json_print(object);
}

int gsr_sync(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_findings findings;

	gsr_findings_read(model, places, &findings);
	if (options->json)
		sync_json(path, model, places, &findings);
	else
		sync_print(path, model, places, &findings, options);
	gsr_findings_drop(&findings);
	gsr_places_drop(places);
	return GSR_FINE;
}
