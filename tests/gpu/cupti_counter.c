/* Counts every driver function that a program calls, through CUPTI, and every kernel that the device runs, whoever asked
 * for it: the measure that the shim's own counts are held against, used in runs without the shim. Loaded by the driver
 * itself: CUDA_INJECTION64_PATH=libcupti_counter.so.
 *
 * CUPTI_COUNTER_OUT names a folder; <pid>.json there gets an object from function name to calls, with the kernels as
 * "kernels" and what they took together as "kernels_ns". CUPTI_LIB may name the libcupti to use: it must be the one that the program itself would load. The file is written by the library's
 * destructor, which runs after the program's own exit handlers. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic unsigned long calls[CUPTI_DRIVER_TRACE_CBID_SIZE + 256];
static _Atomic(const char *) names[CUPTI_DRIVER_TRACE_CBID_SIZE + 256];
static _Atomic unsigned long kernels, kernels_ns;
static bool started;
static void *cupti;

static void CUPTIAPI count(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_ENTER)
		return;
	if (id >= sizeof(calls) / sizeof(*calls))
		return;
	atomic_store_explicit(&names[id], call->functionName, memory_order_relaxed);
	atomic_fetch_add_explicit(&calls[id], 1, memory_order_relaxed);
}

#define CUPTI_FUNCTION(name) ((__typeof__(&name))dlsym(cupti, #name))

static void CUPTIAPI give_buffer(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_records)
{
	enum { BUFFER_BYTES = 1 << 20 };

	*ret_buffer = aligned_alloc(8, BUFFER_BYTES);
	*ret_bytes = *ret_buffer ? BUFFER_BYTES : 0;
	*ret_records = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	__typeof__(&cuptiActivityGetNextRecord) next = CUPTI_FUNCTION(cuptiActivityGetNextRecord);
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (next(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			const CUpti_ActivityKernel4 *kernel = (const CUpti_ActivityKernel4 *)record; /* later ones begin alike */

			atomic_fetch_add(&kernels, 1);
			atomic_fetch_add(&kernels_ns, kernel->end - kernel->start);
		}
	free(buffer);
}

static void flush(void)
{
	CUPTI_FUNCTION(cuptiActivityFlushAll)(1);
}

static void write_counts(void)
{
	const char *folder = getenv("CUPTI_COUNTER_OUT"), *comma = "";
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d.json", folder ? folder : ".", (int)getpid());
	file = fopen(path, "w");
	if (!file) {
		fprintf(stderr, "cupti_counter: cannot write %s\n", path);
		return;
	}
	fputs("{", file);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!calls[i])
			continue;
		fprintf(file, "%s\n\"%s\": %lu", comma, names[i], calls[i]);
		comma = ",";
	}
	fprintf(file, "%s\n\"kernels\": %lu,\n\"kernels_ns\": %lu", comma, kernels, kernels_ns);
	fputs("\n}\n", file);
	fclose(file);
}

__attribute__((destructor)) static void finish(void)
{
	if (started)
		write_counts();
}

/* Called by the driver from the first cuInit. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	const char *library = getenv("CUPTI_LIB");
	CUpti_SubscriberHandle subscriber;

	cupti = dlopen(library ? library : "libcupti.so.13", RTLD_NOW);
	if (!cupti) {
		fprintf(stderr, "cupti_counter: %s\n", dlerror());
		return 0;
	}
	if (CUPTI_FUNCTION(cuptiSubscribe)(&subscriber, count, NULL) ||
	    CUPTI_FUNCTION(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) ||
	    CUPTI_FUNCTION(cuptiActivityRegisterCallbacks)(give_buffer, take_buffer) ||
	    CUPTI_FUNCTION(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) || atexit(flush) != 0) {
		fprintf(stderr, "cupti_counter: CUPTI refused the subscription\n");
		return 0;
	}
	started = true;
	return 1;
}
