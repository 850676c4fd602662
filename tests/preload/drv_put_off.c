/* What classes of calls (shim/api/class.h) owe to launches that were put off (shim/submit/submit.h), by one call of each. Wants
 * submit:thread. Exits 1, and says which, where one does not have what its class should have.
 *
 *   flushes      what was put off reaches the driver before the call does (H17)
 *   memory       the same of memory that is the driver's; with backend:off
 *   own          the same of what gpushim itself asks of the driver within a call (H3): what is awaited is in the second word
 *   reused       a handle of a function stands for another one, with other parameters (H18)
 *   extended     launches by cuLaunchKernelEx are put off, too
 *   same         what sets an attribute to what it is (only where all is put off that may be)
 *   ends         the program ends with launches put off, and prints how many there were
 *   forgets      the launch after the call is made at once, whatever was known of the like of it (H18)
 *   tells CLASS  the call returns the error of a launch that was put off and refused, once; one run for each
 *   classes      prints those that tell */
#include "tests/preload/put_off.h"

/* Memory of one stream is given to another. */
static CUresult own_fence(void)
{
	NEED(cuMemFreeAsync(made_by_alloc, stream));
	NEED(cuMemAllocAsync(&made_by_alloc, BYTES, other));
	return cuMemFreeAsync(made_by_alloc, other);
}

/* Nobody knows of which stream it is. */
static CUresult own_fence_of_all(void)
{
	CUdeviceptr memory;

	NEED(cuMemFree_v2(large[0]));
	NEED(cuMemAlloc_v2(&memory, LARGE_BYTES));
	return cuMemFree_v2(memory);
}

/* What is idle has to go. */
static CUresult own_trim(void)
{
	return cuMemAlloc_v2(&large[0], 3 * (size_t)LARGE_BYTES);
}

/* A copy to the host is on its way, and more is put off behind it. */
static CUresult own_wait(void)
{
	NEED(cuMemcpyDtoHAsync_v2(host, device, BYTES, stream));
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	return cuMemFree_v2(made_by_alloc);
}

/* From then on everything may be done unseen. */
static CUresult private_table(void)
{
	static const CUuuid unknown = {"nobody knows it"};
	const void *table;

	return cuGetExportTable(&table, &unknown);
}

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What is allocated is freed next. */
static const struct row of_memory[] = {
	{"alloc", "cuMemAlloc_v2", by_alloc, true, false, false},
	{"free", "cuMemFree_v2", by_free, true, false, false},
	{"alloc pitch", "cuMemAllocPitch_v2", by_alloc_pitch, true, false, false},
	{"alloc managed", "cuMemAllocManaged", by_alloc_managed, true, false, false},
	{"alloc async", "cuMemAllocAsync", by_alloc_async, true, false, false},
	{"free async", "cuMemFreeAsync", by_free_async, true, false, false},
	{"alloc from a pool", "cuMemAllocFromPoolAsync", by_alloc_from_pool, true, false, false},
};

/* The next launch will be put off. */
static void warm_up(const char *class)
{
	unsigned long before;

	NEED(cuCtxSynchronize());
	before = atomic_load(&put_off);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	if (atomic_load(&put_off) > before)
		return;
	NEED(cuCtxSynchronize());
	if (atomic_load(&put_off) > before) {
		for (unsigned i = 0; i < RUN; i++)
			NEED(by_launch());
		return;
	}
	printf("%s: nothing was put off\n", class);
	wrong = true;
}

static void flushes(const struct row *row)
{
	unsigned long before;

	warm_up(row->class);
	NEED(cuCtxSynchronize());
	before = made();
	atomic_store(&hold, true);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	awaited = row->function;
	atomic_store(&awaited_made, 0);
	atomic_store(&hold, false);
	row->call();
	if (atomic_load(&awaited_made) != before + launches) {
		printf("%s: of %u launches %ld came first\n", row->class, launches, (long)(atomic_load(&awaited_made) - before));
		wrong = true;
	}
	awaited = NULL;
}

/* Code is loaded again, and another kernel has the handle of one that was: its parameters are its own. */
static void reused(void)
{
	CUfunction delay = again("sim_delay"), fill;
	unsigned steps = 1, value, found;
	unsigned long long count = 16;

	for (unsigned i = 0; i < RUN; i++)
		NEED(cuLaunchKernel(delay, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
	fill = again("sim_fill");
	for (value = 0; value < 2 * RUN; value++)
		NEED(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&device, &value, &count}, NULL));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH_v2(&found, device, sizeof(found)));
	if (fill != delay || found != 2 * RUN - 1 || atomic_load(&put_off) < RUN) {
		printf("reused: %d, found %u, %lu were put off\n", fill == delay, found, atomic_load(&put_off));
		wrong = true;
	}
}

/* Each with another value of the attribute that says nothing. */
static void extended(void)
{
	for (unsigned i = 0; i < 250; i++)
		NEED(by_launch_ex());
	NEED(cuCtxSynchronize());
	if (atomic_load(&put_off) == 0 || made() != 250) {
		printf("extended: of %lu launches %lu were put off\n", made(), atomic_load(&put_off));
		wrong = true;
	}
}

/* An attribute that is set to what it is changes nothing, so that nothing has to come before it. */
static void same_attribute(void)
{
	unsigned long before;

	NEED(by_attribute_again());
	warm_up("the same attribute");
	NEED(cuCtxSynchronize());
	NEED(by_launch());
	before = atomic_load(&at_once);
	NEED(by_attribute_again());
	NEED(by_launch());
	if (atomic_load(&at_once) != before) {
		printf("the same attribute: the launch after it was not put off\n");
		wrong = true;
	}
}

/* A context ends, and a function of the next one has the handle of one that ended with it: its attributes are its own. */
static void context_again(void)
{
	static const struct row row = {"attribute in another context", "cuFuncSetAttribute", by_attribute_again, true, false, false};
	CUcontext passing;
	CUfunction before;
	CUmodule code;

	for (unsigned i = 0; i < 2; i++) {
		before = loaded_again;
		NEED(cuCtxCreate_v2(&passing, 0, 0));
		NEED(cuModuleLoadData(&code, "simulated"));
		NEED(cuModuleGetFunction(&loaded_again, code, "sim_fill"));
		if (i == 0)
			NEED(by_attribute_again());
		else if (loaded_again != before)
			printf("no handle comes again\n");
		if (i == 0)
			NEED(cuCtxDestroy_v2(passing));
	}
	NEED(cuCtxSetCurrent(context));
	flushes(&row);
	NEED(cuCtxDestroy_v2(passing));
}

/* The program ends without waiting. */
static void ends(void)
{
	unsigned long before;

	warm_up("ends");
	NEED(cuCtxSynchronize());
	before = made();
	atomic_store(&hold, true);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	printf("%lu\n", before + RUN);
}

static void own(const char *what)
{
	struct row row = {what, "", NULL, true, false, false};

	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&made_by_alloc, BYTES, stream));
	if (strcmp(what, "fence") == 0) {
		row.function = "cuEventRecord cuCtxRecordEvent";
		row.call = own_fence;
	} else if (strcmp(what, "fence-of-all") == 0) {
		NEED(cuMemAlloc_v2(&large[0], LARGE_BYTES));
		row.function = "cuEventRecord cuCtxRecordEvent";
		row.call = own_fence_of_all;
	} else if (strcmp(what, "unmap") == 0 || strcmp(what, "release") == 0 || strcmp(what, "plain") == 0) {
		for (int i = 0; i < 3; i++)
			NEED(cuMemAlloc_v2(&large[i], LARGE_BYTES));
		for (int i = 0; i < 3; i++)
			NEED(cuMemFree_v2(large[i]));
		row.function = what[0] == 'u' ? "cuMemUnmap" : what[0] == 'r' ? "cuMemRelease" : "cuMemFree_v2";
		row.call = own_trim;
	} else if (strcmp(what, "wait") == 0) {
		launches = 2 * RUN;
		row.function = "cuCtxSynchronize";
		row.call = own_wait;
	} else if (strcmp(what, "table") == 0) {
		row.function = "cuGetExportTable";
		row.call = private_table;
	}
	flushes(&row);
}

static void forgets(const struct row *row)
{
	unsigned long before;

	warm_up(row->class);
	NEED(row->call());
	before = atomic_load(&at_once);
	NEED(by_launch());
	if (atomic_load(&at_once) == before) {
		printf("%s: the launch after it was put off\n", row->class);
		wrong = true;
	}
}

/* Made at once it is this function of the driver; put off, without attributes, cuLaunchKernel. */
static CUresult by_plain_launch_ex(void)
{
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				 .hStream = stream};
	unsigned steps = 1;

	return cuLaunchKernelEx(&config, kernel, (void *[]){&steps}, NULL);
}

static void tells(const struct row *row, char **argv)
{
	sim_fault_fired_fn *fault_fired;
	sim_fault_arm_fn *fault_arm;
	CUresult first, second;
	unsigned long before;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&fault_fired = sim_find("sim_fault_fired");
	NEED(by_event());
	do {
		fault_arm("cuLaunchKernel", 0, 0);
		warm_up(row->class);
		NEED(by_stream()); /* flushes, and tells nothing */
		fault_arm("cuLaunchKernel", 1, CUDA_ERROR_NOT_SUPPORTED);
		first = by_plain_launch_ex();
		if (first == CUDA_ERROR_NOT_SUPPORTED) /* so soon: it tells that itself */
			execv("/proc/self/exe", argv);
		NEED(first);
		NEED(by_stream());
	} while (!wrong && fault_fired("cuLaunchKernel") == 0); /* until it was put off */
	first = row->call();
	second = row->call();
	if (first != CUDA_ERROR_NOT_SUPPORTED || second != CUDA_SUCCESS) {
		printf("%s: %d, then %d\n", row->class, first, second);
		wrong = true;
	}
	before = atomic_load(&at_once);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	if (atomic_load(&at_once) != before + RUN) {
		printf("%s: launches are still put off\n", row->class);
		wrong = true;
	}
}

int main(int argc, char **argv)
{
	CUresult (*block_shape)(CUfunction, int, int, int);
	const char *what = argc > 1 ? argv[1] : "";
	sim_call_watch_fn *call_watch;
	CUlibrary library;

	for (size_t i = 0; i < ROWS && strcmp(what, "classes") == 0; i++)
		if (rows[i].tells)
			puts(rows[i].class);
	if (strcmp(what, "classes") == 0)
		return 0;
	main_thread = pthread_self();
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	*(void **)&call_watch = sim_find("sim_call_watch");
	call_watch(watch);
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	NEED(cuLibraryLoadData(&library, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&library_kernel, library, "sim_delay"));
	*(void **)&block_shape = dlsym(RTLD_DEFAULT, "cuFuncSetBlockShape"); /* to import it would end putting off */
	NEED(block_shape(kernel, 32, 1, 1));
	NEED(cuDeviceGetDefaultMemPool(&default_pool, 0));
	NEED(cuEventCreate(&start, 0));
	NEED(cuEventCreate(&end, 0));
	NEED(cuMemAlloc_v2(&device, BYTES));
	NEED(cuMemHostAlloc((void **)&host, BYTES, 0));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuEventRecord(start, stream));
	loaded_again = again("sim_fill");
	NEED(by_attribute_again());
	loaded_again = again("sim_fill");
	if (strcmp(what, "same") == 0)
		same_attribute();
	if (strcmp(what, "ends") == 0)
		ends();
	if (strcmp(what, "extended") == 0)
		extended();
	if (strcmp(what, "reused") == 0)
		reused();
	if (strcmp(what, "own") == 0 && argc > 2)
		own(argv[2]);
	for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]) && strcmp(what, "memory") == 0; i++)
		flushes(&of_memory[i]);
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(what, "flushes") == 0 && rows[i].flushes)
			flushes(&rows[i]);
		else if (strcmp(what, "forgets") == 0 && rows[i].forgets)
			forgets(&rows[i]);
		else if (strcmp(what, "tells") == 0 && argc > 2 && strcmp(argv[2], rows[i].class) == 0)
			tells(&rows[i], argv);
	}
	if (strcmp(what, "flushes") == 0)
		context_again();
	return wrong;
}
