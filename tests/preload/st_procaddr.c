/* A program with the static CUDA runtime: prints every question that its runtime asks the driver ("ask NAME VERSION
 * FLAGS"), and judges the answers. On the simulated driver the runtime gives up afterwards, for lack of the private
 * tables; the list of questions is complete by then. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tests/preload/answer.h"

typedef CUresult get_fn(const char *symbol, void **pfn, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *found);

/* The linker sends the runtime's calls of dlsym here. */
void *__wrap_dlsym(void *handle, const char *symbol);
void *__real_dlsym(void *handle, const char *symbol);

static get_fn *door, *driver_door;
static unsigned questions;

static CUresult ask(const char *symbol, void **pfn, int version, cuuint64_t flags,
		    CUdriverProcAddressQueryResult *found);

/* The runtime looks the door itself up, through the door, and goes on with that one. */
static void follow(const char *symbol, void **pfn, int version)
{
	if (strcmp(symbol, "cuGetProcAddress") != 0 || version < 12000)
		return;
	*(void **)&door = *pfn;
	*pfn = (void *)ask;
}

static CUresult ask(const char *symbol, void **pfn, int version, cuuint64_t flags,
		    CUdriverProcAddressQueryResult *found)
{
	CUdriverProcAddressQueryResult driver_found = 0;
	void *driver_answer = NULL;
	CUresult driver_result =
	    driver_door(symbol, &driver_answer, version, flags, found != NULL ? &driver_found : NULL);
	CUresult result = door(symbol, pfn, version, flags, found);

	questions++;
	printf("ask %s %d %llu\n", symbol[0] != '\0' ? symbol : "\"\"", version, (unsigned long long)flags);
	if (result != driver_result || (found != NULL && *found != driver_found))
		printf("wrong: %s %d: the driver returns %d\n", symbol, version, driver_result);
	answer_check(symbol, version, flags, *pfn, driver_answer);
	follow(symbol, pfn, version);
	return result;
}

void *__wrap_dlsym(void *handle, const char *symbol)
{
	void *found = __real_dlsym(handle, symbol);

	printf("dlsym %s\n", symbol);
	if (strcmp(symbol, "cuGetProcAddress_v2") != 0)
		return found;
	answers_init();
	*(void **)&door = found;
	*(void **)&driver_door = own_dlsym(handle, symbol);
	answer_check(symbol, 0, 0, found, *(void **)&driver_door);
	return (void *)ask;
}

int main(void)
{
	cudaError_t error = cudaFree(NULL);

	answers_print("answers");
	printf("%u questions, then error %d\n", questions, error);
	return 0;
}
