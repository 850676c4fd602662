/* Rule (H16): through the _ptsz twins the NULL stream is the calling thread's own: threads do not wait for each other
 * there, and the legacy stream waits for all of them. */
#include <pthread.h>

#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

typedef cudaError_t id_fn(cudaStream_t, unsigned long long *);

static id_fn *id_ptsz;

static void *other_thread(void *ret_id)
{
	NEED(cudaFree(NULL));
	NEED(id_ptsz(NULL, ret_id));
	return NULL;
}

int main(void)
{
	unsigned long long legacy = 0, mine = 0, other = 0, named = 0;
	pthread_t thread;

	NEED(cudaFree(NULL));
	*(void **)&id_ptsz = dlsym(RTLD_DEFAULT, "cudaStreamGetId_ptsz");
	NEED(cudaStreamGetId(NULL, &legacy));
	NEED(id_ptsz(NULL, &mine));
	NEED(cudaStreamGetId(cudaStreamPerThread, &named));
	NEED(pthread_create(&thread, NULL, other_thread, &other));
	pthread_join(thread, NULL);
	WANT(mine, named);
	WANT(mine != legacy, 1);
	WANT(mine != other, 1);
	NEED(id_ptsz(cudaStreamLegacy, &named));
	WANT(named, legacy);
	return rule_broken;
}
