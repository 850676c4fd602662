/* Counts every driver function that a program calls, through CUPTI: the measure that the shim's own counts are held
 * against, used in runs without the shim. Loaded by the driver itself: CUDA_INJECTION64_PATH=libcupti_counter.so.
 *
 * CUPTI_COUNTER_OUT names a folder; <pid>.json there gets an object from function name to calls. CUPTI_LIB may name
 * the libcupti to use: it must be the one that the program itself would load. The file is written by the library's
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
static bool started;

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
	void *cupti = dlopen(library ? library : "libcupti.so.13", RTLD_NOW);
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiEnableDomain) enable_domain;
	CUpti_SubscriberHandle subscriber;

	if (!cupti) {
		fprintf(stderr, "cupti_counter: %s\n", dlerror());
		return 0;
	}
	subscribe = (__typeof__(subscribe))dlsym(cupti, "cuptiSubscribe");
	enable_domain = (__typeof__(enable_domain))dlsym(cupti, "cuptiEnableDomain");
	if (!subscribe || !enable_domain || subscribe(&subscriber, count, NULL) ||
	    enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API)) {
		fprintf(stderr, "cupti_counter: CUPTI refused the subscription\n");
		return 0;
	}
	started = true;
	return 1;
}
