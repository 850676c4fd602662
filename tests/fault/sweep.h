/* Fail the Nth: runs a scenario again and again, each time in a new process, in which another call of another driver
 * function fails, until no call is left that could; likewise for the shim's own fault points.
 *
 *   PROGRAM list                prints the names of the scenarios
 *   PROGRAM plain FILE [full]   without the shim: keeps what the program sees of every fault
 *   PROGRAM shim FILE [full]    with the checking build of the shim: judges every fault
 *   PROGRAM dump FILE           either way: prints what the program sees without a fault
 * After full or short comes the scenario, if it is one alone, and K/N: of N parts, the Kth from 0.
 *
 * A run starts as a fork of a process that has made no CUDA call. The verdict on a fault, by whose call it hit:
 *   the program's own  the program sees what it sees without the shim: the record is one of those of the plain faults
 *                      of that function. That nothing is seen is right only for what the shim serves by itself, or
 *                      tries again once it has given memory back (out of memory).
 *   the shim's own     the program sees nothing, or is told "out of memory" by a call that may say so
 *   what was put off   (submit:thread) a later call tells the error, unless it was lack of memory and there was some to
 *                      give back
 * And always: the process ends well and in time, no work meets memory that is not its own, the walk of the allocator
 * passes, and what the driver holds once all is freed and given back is what it holds without the fault. If the program
 * sees nothing, then as many addresses as without the fault have been noted as live, or said to be missing.
 * An error that breaks the context (700) may also come from a call of the shim's own; afterwards it is all that the
 * program is told, and what it holds is not looked at.
 *
 * Left out, and said so: functions that only hand out others (the runtime takes no care of failures there). */
#ifndef SWEEP_H
#define SWEEP_H

#include "tests/fault/run.h"

enum { WRONG_SHOWN = 20, OUT_OF_MEMORY = 2, BROKEN = 700 };

struct plain_row {
	char scenario[24];
	char function[48]; /* "": no fault */
	int code;
	unsigned role;
	uint64_t hash;
	size_t held[SIM_HELD_KINDS];
};

static struct outcome sweep_base[ROLES_MAX]; /* of the run without a fault */
static struct plain_row *sweep_rows;
static size_t sweep_row_count, sweep_row_capacity;
static bool sweep_full;
static unsigned sweep_part, sweep_parts = 1;
static unsigned sweep_tap_count, sweep_wrong_count;

/* --- the plain outcomes ------------------------------------------------------------------------------------------- */

static void sweep_row_add(const struct scenario *scenario, const struct fault *fault)
{
	struct plain_row *row;

	if (sweep_row_count == sweep_row_capacity) {
		sweep_row_capacity = sweep_row_capacity * 2 + 1024;
		sweep_rows = realloc(sweep_rows, sweep_row_capacity * sizeof(*sweep_rows));
	}
	row = &sweep_rows[sweep_row_count++];
	*row = (struct plain_row){.code = fault->code, .role = fault->role};
	snprintf(row->scenario, sizeof(row->scenario), "%s", scenario->name);
	snprintf(row->function, sizeof(row->function), "%s", fault->function != NULL ? fault->function : "");
	row->hash = record_hash(&sweep_runs[fault->role].record);
	memcpy(row->held, sweep_runs[fault->role].held, sizeof(row->held));
}

/* A plain fault of that function and code after which the program saw just this; NULL. */
static const struct plain_row *sweep_row_find(const struct scenario *scenario, const struct fault *fault, uint64_t hash)
{
	for (size_t i = 0; i < sweep_row_count; i++) {
		const struct plain_row *row = &sweep_rows[i];

		if (strcmp(row->scenario, scenario->name) == 0 && row->role == fault->role && row->hash == hash &&
		    strcmp(row->function, fault->function != NULL ? fault->function : "") == 0 &&
		    row->code == fault->code)
			return row;
	}
	return NULL;
}

/* --- the verdict -------------------------------------------------------------------------------------------------- */

/* Calls of these that the program makes may never reach the driver. */
static bool sweep_is_served(const char *function)
{
	static const char *const served[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemHostAlloc", "cuMemAllocHost_v2", "cuMemFreeHost",
					     "cuMemAllocFromPoolAsync"};

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
		if (strncmp(function, served[i], strlen(served[i])) == 0)
			return true;
	return false;
}

/* A call that may end with "out of memory" by itself. */
static bool sweep_may_lack_memory(const char *step)
{
	return strstr(step, "lloc") != NULL || strstr(step, "Create") != NULL || strstr(step, "Open") != NULL ||
	       strstr(step, "enomem") != NULL;
}

/* What is left may be what the failed call should have given back. */
static bool sweep_gives_back(const struct fault *fault)
{
	return fault->function != NULL &&
	       (strstr(fault->function, "Free") != NULL || strstr(fault->function, "Unmap") != NULL ||
		strstr(fault->function, "Release") != NULL || strstr(fault->function, "Destroy") != NULL ||
		strstr(fault->function, "Close") != NULL);
}

/* The event of a stream whose record failed is there to be used again; one of a whole context may wait beside another.
 */
static bool sweep_is_record(const struct fault *fault)
{
	return fault->function != NULL && strncmp(fault->function, "cuEventRecord", 13) == 0;
}

/* What the program failed to give back is held: as much as after the same fault without the shim; for blocks of ours,
 * the memory that they lie in, twice mapped where a block is stitched; for shared memory that it could not close, as many
 * mappings as it has handles. */
static bool sweep_nothing_leaks(const struct fault *fault, const struct outcome *run, const struct outcome *base,
				const struct plain_row *row, const struct plain_row *none, const struct step *step)
{
	for (enum sim_held_kind kind = 0; kind < SIM_HELD_KINDS; kind++) {
		size_t allowed = base->held[kind];

		/* Two more events than without the fault: memory that changes hands at another moment, and what its free gave
		 * a blocking stream. A context that lives on keeps those made in it. */
		allowed += kind == SIM_HELD_EVENTS && !sweep_is_record(fault) ? 2 : sweep_gives_back(fault);
		allowed += kind == SIM_HELD_EVENTS && run->own && sweep_gives_back(fault) ? 4 : 0;
		if (run->used > base->used && kind == SIM_HELD_RESERVATIONS)
			allowed++;
		else if (run->used > base->used && (kind == SIM_HELD_PHYSICAL || kind == SIM_HELD_RANGES))
			allowed += (run->used - base->used) * (kind == SIM_HELD_RANGES ? 2 : 1);
		if (row != NULL && row->held[kind] > none->held[kind])
			allowed += row->held[kind] - none->held[kind];
		if (run->own && strncmp(step->text, "cudaIpcClose", 12) == 0)
			allowed += kind == SIM_HELD_RANGES || kind == SIM_HELD_RESERVATIONS;
		if (run->held[kind] > allowed)
			return false;
	}
	return true;
}

/* The wait in a free is the driver's own, which would have failed as ours did; then nothing is freed. */
static bool sweep_is_wait_of_free(const struct fault *fault, const struct outcome *run, const struct step *step)
{
	return fault->function != NULL && strcmp(fault->function, "cuCtxSynchronize") == 0 &&
	       strcmp(run->entry, "cuMemFree_v2") == 0 && step->code == fault->code &&
	       (strncmp(step->text, "cudaFree", 8) == 0 || strncmp(step->text, "cuMemFree", 9) == 0);
}

/* Made by the queue's thread: no entry of the shim is below it. */
static bool sweep_is_put_off(const struct fault *fault, const struct outcome *run)
{
	static const char *const work[] = {"cuLaunchKernel", "cuMemcpyDtoDAsync", "cuMemset", "cuEventRecord", "cuStreamWaitEvent"};

	for (size_t i = 0; fault->function != NULL && run->entry[0] == '\0' && !run->own && i < sizeof(work) / sizeof(work[0]); i++)
		if (strncmp(fault->function, work[i], strlen(work[i])) == 0)
			return true;
	return false;
}

/* Its thread could not make the context of what was put off its own. */
static bool sweep_is_entering(const struct fault *fault, const struct outcome *run)
{
	return fault->function != NULL && run->entry[0] == '\0' && !run->own && strcmp(fault->function, "cuCtxSetCurrent") == 0;
}

/* Sharing memory takes calls of ours that have no twin in the driver's own way: the program is told which one failed,
 * or that the memory cannot be shared or mapped. A close does not fail. */
static bool sweep_is_sharing(const struct fault *fault, const struct outcome *run, const struct step *step)
{
	enum { INVALID_VALUE = 1, NOT_MAPPED = 205 };

	if (fault->function == NULL || run->own || strncmp(run->entry, "cuIpc", 5) != 0)
		return false;
	if (strncmp(step->text, "cudaIpcGet", 10) == 0)
		return step->code == INVALID_VALUE;
	return strncmp(step->text, "cudaIpcOpen", 11) == 0 && (step->code == fault->code || step->code == NOT_MAPPED);
}

static const char *sweep_judge_role(const struct scenario *scenario, const struct fault *fault, unsigned role)
{
	const struct outcome *run = &sweep_runs[role], *base = &sweep_base[role];
	const struct fault nothing = {.role = role};
	static const struct plain_row no_row;
	const struct plain_row *row = NULL, *none = sweep_row_find(scenario, &nothing, record_hash(&base->record));
	const struct step *step = &run->record.steps[record_difference(&run->record, &base->record)];
	uint64_t hash = record_hash(&run->record);
	bool unseen = hash == record_hash(&base->record);
	bool own = fault->function != NULL && sweep_runs[fault->role].own;

	if (scenario->shim_only)
		none = &no_row;
	if (role != fault->role)
		return NULL; /* what it sees depends on what the other one told it; it ended well */
	if (own)
		row = sweep_row_find(scenario, fault, hash);
	if (scenario->shim_only && own && step->code == fault->code)
		row = none;
	if (own && row == NULL && unseen && fault->code != OUT_OF_MEMORY && !sweep_is_served(fault->function))
		return "the error of the program's own call is lost";
	if (unseen && fault->code != OUT_OF_MEMORY && sweep_is_put_off(fault, &sweep_runs[fault->role]))
		return "the error of work that was put off is lost";
	if (!unseen && step->code == fault->code &&
	    (sweep_is_put_off(fault, &sweep_runs[fault->role]) || sweep_is_entering(fault, &sweep_runs[fault->role])))
		row = none;
	if (row == NULL && !own && fault->code == BROKEN && step->code == BROKEN)
		return NULL;
	if (row == NULL && !unseen && !(step->code == OUT_OF_MEMORY && sweep_may_lack_memory(step->text)) &&
	    !sweep_is_wait_of_free(fault, run, step) && !sweep_is_sharing(fault, run, step))
		return own ? "the program's own call gives something else than without the shim"
			   : "the program sees it";
	if (unseen && run->noted_ever < base->noted_ever)
		return "an address is not noted, nor counted as missing";
	if (fault->code == BROKEN)
		return NULL;
	return sweep_nothing_leaks(fault, run, base, row, none, step) ? NULL : "something leaks";
}

/* Without a fault, too, all memory goes back. */
static bool sweep_keeps_memory(const struct scenario *scenario, unsigned role)
{
	const struct outcome *base = &sweep_base[role];
	const struct plain_row *none =
	    sweep_row_find(scenario, &(struct fault){.role = role}, record_hash(&base->record));

	return none != NULL && (base->held[SIM_HELD_PHYSICAL] > none->held[SIM_HELD_PHYSICAL] ||
				base->held[SIM_HELD_RANGES] > none->held[SIM_HELD_RANGES]);
}

static void sweep_show(const struct scenario *scenario, const struct fault *fault, const char *why)
{
	const struct outcome *run = &sweep_runs[fault->role], *base = &sweep_base[fault->role];
	unsigned at = record_difference(&run->record, &base->record);
	char text[600] = "";
	FILE *errors = fopen(sweep_errors, "r");

	if (sweep_wrong_count++ >= WRONG_SHOWN && !sweep_full)
		goto end;
	printf("# %s: %s %s:%u:%d (role %u, below %s): %s\n", scenario->name,
	       fault->function ? "SIM_FAULT" : "GPUSHIM_FAULT",
	       fault->function ? fault->function
	       : fault->point  ? fault->point
			       : "none",
	       fault->nth, fault->code, fault->role, run->own ? "the program" : run->entry, why);
	if (at < run->record.count || at < base->record.count)
		printf("#   step %u: %s = %d, without the fault %s = %d\n", at, run->record.steps[at].text,
		       run->record.steps[at].code, base->record.steps[at].text, base->record.steps[at].code);
	for (enum sim_held_kind kind = 0; kind < SIM_HELD_KINDS; kind++)
		if (run->held[kind] > base->held[kind])
			printf("#   held, kind %d: %zu, without the fault %zu\n", kind, run->held[kind],
			       base->held[kind]);
	if (errors != NULL && fgets(text, sizeof(text), errors) != NULL)
		printf("#   %s", text);
end:
	if (errors != NULL)
		fclose(errors);
}

/* --- the sweep ---------------------------------------------------------------------------------------------------- */

static bool sweep_left_out(const char *function)
{
	return strncmp(function, "cuGetProcAddress", 16) == 0;
}

/* An error that breaks the context comes from calls that submit work or hear of it. */
static bool sweep_tells_of_work(const char *function)
{
	return strncmp(function, "cuLaunch", 8) == 0 || strncmp(function, "cuMemcpy", 8) == 0 ||
	       strncmp(function, "cuMemset", 8) == 0 || strncmp(function, "cuGraphLaunch", 13) == 0 || strstr(function, "Synchronize") != NULL ||
	       strstr(function, "Query") != NULL;
}

/* The likely errors of a function; the first is out of memory. Not full: few of them. */
static unsigned sweep_codes(const char *function, int *codes)
{
	unsigned count = 0;

	codes[count++] = 2;   /* OUT_OF_MEMORY */
	codes[count++] = 999; /* UNKNOWN */
	if (sweep_tells_of_work(function) && (sweep_full || strncmp(function, "cuMem", 5) != 0))
		codes[count++] = BROKEN;
	if (!sweep_full)
		return count;
	if (strstr(function, "GetParamInfo") == NULL) /* which says so that there are no more parameters */
		codes[count++] = 1;		      /* INVALID_VALUE */
	if (strncmp(function, "cuMem", 5) == 0 || strncmp(function, "cuDevice", 8) == 0) {
		codes[count++] = 801; /* NOT_SUPPORTED */
		codes[count++] = 800; /* NOT_PERMITTED */
	}
	return count;
}

/* The short sweep takes of calls that come from the same place after the same step only the first two and the last. */
static bool sweep_folds(unsigned role, unsigned function, unsigned nth)
{
	const struct sites *sites = &sweep_sites[role];
	const uint64_t *hash = sites->hash[function];
	unsigned before = 0, after = 0;

	if (sweep_full || !sweep_with_shim || nth > sites->count[function])
		return false;
	for (unsigned i = 0; i < sites->count[function]; i++)
		if (hash[i] == hash[nth - 1])
			*(i + 1 < nth ? &before : &after) += i + 1 != nth;
	return before >= 2 && after > 0;
}

struct sweep_figures {
	unsigned faults;
	unsigned folded;
	unsigned functions;
	unsigned points;
	unsigned left_out;
	unsigned wrong;
};

/* Returns false once there is nothing left to fail. */
static bool sweep_one(const struct scenario *scenario, const struct fault *fault, struct sweep_figures *figures)
{
	const char *wrong = sweep_run(scenario, fault);

	if (!sweep_runs[fault->role].fired && wrong == NULL)
		return false;
	figures->faults++;
	if (!sweep_with_shim) {
		if (wrong == NULL)
			sweep_row_add(scenario, fault);
		return true;
	}
	for (unsigned role = 0; role < ROLES_MAX && scenario->run[role] != NULL && wrong == NULL; role++)
		wrong = sweep_judge_role(scenario, fault, role);
	if (wrong != NULL) {
		figures->wrong++;
		sweep_show(scenario, fault, wrong);
	}
	return true;
}

static void sweep_driver(const struct scenario *scenario, unsigned role, struct sweep_figures *figures)
{
	const struct sweep_figures before = *figures;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		struct fault fault = {.function = sweep_functions[i], .role = role};
		int codes[8];
		unsigned code_count = sweep_codes(fault.function, codes);

		if (sweep_base[role].calls[i] == 0 || i % sweep_parts != sweep_part)
			continue;
		if (sweep_left_out(fault.function)) {
			figures->left_out++;
			continue;
		}
		figures->functions++;
		for (unsigned code = 0; code < code_count; code++) {
			fault.code = codes[code];
			for (fault.nth = 1;; fault.nth++)
				if (sweep_folds(role, i, fault.nth))
					figures->folded++;
				else if (!sweep_one(scenario, &fault, figures))
					break;
		}
	}
	if (figures->functions > before.functions && figures->faults == before.faults) {
		printf("# %s: calls that were to fail in role %u, and none did\n", scenario->name, role);
		figures->wrong++;
	}
}

static void sweep_own_points(const struct scenario *scenario, unsigned role, struct sweep_figures *figures)
{
	for (unsigned i = 0; i < GSB_FAULT_COUNT; i++) {
		unsigned before = figures->faults;

		for (int times = 1; times < 1000; times += 998) {
			struct fault fault = {.point = sweep_points[i], .nth = 1, .code = times, .role = role};

			while (sweep_one(scenario, &fault, figures))
				fault.nth++;
		}
		figures->points += figures->faults != before;
	}
}

static void sweep_dump(const struct scenario *scenario)
{
	const char *wrong = sweep_run(scenario, &(struct fault){0});

	printf("%s: %s\n", scenario->name, wrong != NULL ? wrong : "ends well");
	for (unsigned role = 0; role < ROLES_MAX && scenario->run[role] != NULL; role++)
		for (unsigned i = 0; i < sweep_runs[role].record.count; i++)
			printf("  %u: %s = %d\n", role, sweep_runs[role].record.steps[i].text,
			       sweep_runs[role].record.steps[i].code);
}

static void sweep_scenario(const struct scenario *scenario)
{
	struct sweep_figures figures = {0};
	const char *wrong = sweep_run(scenario, &(struct fault){0});

	memcpy(sweep_base, sweep_runs, sizeof(sweep_base));
	for (unsigned role = 0; role < ROLES_MAX && scenario->run[role] != NULL && wrong == NULL; role++) {
		struct fault none = {.role = role};

		if (!sweep_with_shim)
			sweep_row_add(scenario, &none);
		else if (!scenario->shim_only &&
			 sweep_row_find(scenario, &none, record_hash(&sweep_base[role].record)) == NULL)
			wrong = "without a fault it is not as without the shim";
		else if (sweep_keeps_memory(scenario, role))
			wrong = "without a fault it keeps memory";
	}
	if (wrong != NULL) {
		sweep_show(scenario, &(struct fault){0}, wrong);
		figures.wrong++;
	}
	for (unsigned role = 0; role < ROLES_MAX && scenario->run[role] != NULL && wrong == NULL; role++) {
		sweep_driver(scenario, role, &figures);
		if (sweep_with_shim && sweep_part == 0)
			sweep_own_points(scenario, role, &figures);
	}
	if (sweep_with_shim)
		printf("%sok %u - %s: %u faults: %u driver functions (%u left out), %u own points, %u repeats folded; "
		       "%u wrong\n",
		       figures.wrong ? "not " : "", ++sweep_tap_count, scenario->name, figures.faults,
		       figures.functions, figures.left_out, figures.points, figures.folded, figures.wrong);
	else
		printf("# %s: %u plain faults of %u functions\n", scenario->name, figures.faults, figures.functions);
}

static int sweep_main(const struct scenario *scenarios, size_t count, int argc, char **argv)
{
	FILE *file;
	bool dump;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (size_t i = 0; i < count; i++)
			puts(scenarios[i].name);
		return 0;
	}
	if (argc < 3 ||
	    (argc > 5 && (sscanf(argv[5], "%u/%u", &sweep_part, &sweep_parts) != 2 || sweep_part >= sweep_parts))) {
		fprintf(stderr, "usage: %s list | plain|shim|dump FILE [full|short] [SCENARIO [K/N]]\n", argv[0]);
		return 2;
	}
	sweep_with_shim = sim_find("gpushim_check_walk") != NULL;
	sweep_full = argc > 3 && strcmp(argv[3], "full") == 0;
	dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	backtrace((void *[1]){NULL}, 1);
	sweep_runs =
	    mmap(NULL, ROLES_MAX * sizeof(*sweep_runs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sweep_sites =
	    mmap(NULL, ROLES_MAX * sizeof(*sweep_sites), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	dump = strcmp(argv[1], "dump") == 0;
	file = fopen(argv[2], dump ? "a" : sweep_with_shim ? "r" : "w");
	snprintf(sweep_errors, sizeof(sweep_errors), "%s.errors.%d", argv[2], (int)getpid());
	if (sweep_runs == MAP_FAILED || sweep_sites == MAP_FAILED || file == NULL ||
	    freopen(sweep_errors, "a", stderr) == NULL)
		return 2;
	if (sweep_with_shim && !dump) {
		fseek(file, 0, SEEK_END);
		sweep_row_count = (size_t)ftell(file) / sizeof(*sweep_rows);
		rewind(file);
		sweep_rows = malloc(sweep_row_count * sizeof(*sweep_rows) + 1);
		if (sweep_rows == NULL ||
		    fread(sweep_rows, sizeof(*sweep_rows), sweep_row_count, file) != sweep_row_count)
			return 2;
	}
	for (size_t i = 0; i < count; i++)
		if (argc < 5 || strcmp(argv[4], scenarios[i].name) == 0)
			(dump ? sweep_dump : sweep_scenario)(&scenarios[i]);
	if (dump)
		return 0;
	if (sweep_with_shim)
		printf("1..%u\n", sweep_tap_count);
	else if (fwrite(sweep_rows, sizeof(*sweep_rows), sweep_row_count, file) != sweep_row_count)
		return 2;
	return fclose(file) != 0;
}

#endif
