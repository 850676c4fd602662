/* Every name that the toolkit's headers type, at every version, with both kinds of default stream, through every door:
 * cuGetProcAddress in both forms, dlsym and dlvsym. Judges the answers, and calls through a few of them. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>
#include <errno.h>

#include "tests/preload/answer.h"
#include "tests/sim/sim.h"

static const struct {
	const char *symbol;
	const char *name;
	int since;
} functions[] = {
#define SIM_FN(symbol, name, since, twin) {#symbol, name, since},
#include "tests/sim/cuda/driver_names.def"
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static PFN_cuGetProcAddress_v12000 driver_door;

/* Looks the door up by its own name, as cuda-python does. */
static void *door_at(int version)
{
	void *found = NULL;

	if (cuGetProcAddress_v2("cuGetProcAddress", &found, version, 0, NULL) != CUDA_SUCCESS)
		printf("wrong: there is no cuGetProcAddress at %d\n", version);
	return found;
}

static void try_triple(const char *name, int version, cuuint64_t flags)
{
	PFN_cuGetProcAddress_v11030 door4 = (PFN_cuGetProcAddress_v11030)door_at(11030);
	PFN_cuGetProcAddress_v12000 door5 = (PFN_cuGetProcAddress_v12000)door_at(12000);
	CUdriverProcAddressQueryResult found = 77, driver_found = 77;
	void *answer = NULL, *again = NULL, *old = NULL, *driver_answer = NULL;
	CUresult driver_result = driver_door(name, &driver_answer, version, flags, &driver_found);
	CUresult driver_unsaid = driver_door(name, &driver_answer, version, flags, NULL); /* no status asked for */
	CUresult driver_old = driver_result == CUDA_SUCCESS && driver_found != CU_GET_PROC_ADDRESS_SUCCESS
				      ? CUDA_ERROR_NOT_FOUND
				      : driver_result;
	CUresult result = cuGetProcAddress_v2(name, &answer, version, flags, &found);

	if (result != driver_result || found != driver_found)
		printf("wrong: %s %d: %d and %d, the driver says %d and %d\n", name, version, result, found,
		       driver_result, driver_found);
	answer_check(name, version, flags, answer, driver_answer);
	if (door5(name, &again, version, flags, NULL) != driver_unsaid || again != answer)
		printf("wrong: %s %d: the second answer differs\n", name, version);
	if (door4(name, &old, version, flags) != driver_old || old != answer)
		printf("wrong: %s %d: the four-argument form differs\n", name, version);
}

static bool is_first_of_name(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(functions[i].name, functions[at].name) == 0)
			return false;
	return true;
}

static size_t collect_versions(int *versions)
{
	size_t count = 0, i, k;

	for (i = 0; i < FUNCTIONS; i++) {
		for (k = 0; k < count && versions[k] != functions[i].since; k++)
			;
		if (k == count)
			versions[count++] = functions[i].since;
	}
	versions[count++] = 0;
	versions[count++] = 11031;
	versions[count++] = 99990;
	return count;
}

static void through_get_proc_address(void)
{
	static int versions[FUNCTIONS + 3];
	size_t count = collect_versions(versions);

	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!is_first_of_name(i))
			continue;
		for (size_t k = 0; k < count; k++) {
			try_triple(functions[i].name, versions[k], CU_GET_PROC_ADDRESS_DEFAULT);
			try_triple(functions[i].name, versions[k], CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
		}
	}
	answers_print("cuGetProcAddress");
	try_triple("", 0, 0);
	try_triple("cuNoSuchFunction", 13000, 0);
	try_triple("cuMemAlloc_v2", 13000, 0);
	try_triple("cuInit", 13000, 64);
	answers_print("odd questions");
	if (cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL) != driver_door("cuInit", NULL, 13000, 0, NULL) ||
	    cuGetProcAddress_v2(NULL, NULL, 13000, 0, NULL) != driver_door(NULL, NULL, 13000, 0, NULL))
		printf("wrong: NULL arguments\n");
}

static void through_dlsym(void)
{
	void *handle = own_library("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < FUNCTIONS; i++) {
		const char *symbol = functions[i].symbol;
		void *driver_answer = own_dlsym(handle, symbol);

		answer_check(symbol, 0, 0, dlsym(handle, symbol), driver_answer);
		if (dlvsym(handle, symbol, "GPUSHIM_NO_SUCH_VERSION") != NULL)
			printf("wrong: %s has a version\n", symbol);
	}
	answers_print("dlsym");
}

/* A trampoline leads to the function it stands for, with all arguments and errno as they were. */
static void through_trampoline(void)
{
	typedef CUresult any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
	sim_calls_fn *calls;
	any_fn *destroy;
	void *handle = own_library("libcuda.so.1", RTLD_NOW);
	CUresult result;

	*(void **)&calls = sim_find("sim_calls");
	*(void **)&destroy = dlsym(handle, "cuArrayDestroy");
	if (calls == NULL)
		return;
	errno = 77;
	result = destroy(1, 2, 3, 4, 5, 6, 7, 8);
	printf("unlisted: result %d, called %lu times, errno %d\n", result, calls("cuArrayDestroy"), errno);
}

int main(void)
{
	if (cuInit(0) != CUDA_SUCCESS)
		return 1;
	answers_init();
	*(void **)&driver_door = own_dlsym(answers.driver, "cuGetProcAddress_v2");
	through_get_proc_address();
	through_dlsym();
	through_trampoline();
	return 0;
}
