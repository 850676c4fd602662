/* Memory shared by two processes, for the sweep of faults: each of the two meets every fault. */
#include <errno.h>

#include <cuda_runtime_api.h>

#include "tests/fault/sweep.h"
#include "tests/fault/work.h"

/* What goes between the two: whether there is a handle, and the handle. Whoever ends early is seen as "none". */
struct message {
	int good;
	cudaIpcMemHandle_t handle;
};

static void tell(struct message message)
{
	send(sweep_other, &message, sizeof(message), MSG_NOSIGNAL);
}

static struct message hear(void)
{
	struct message message = {0};
	ssize_t got;

	while ((got = recv(sweep_other, &message, sizeof(message), 0)) < 0 && errno == EINTR)
		;
	return got == (ssize_t)sizeof(message) ? message : (struct message){0};
}

static void exporter(void)
{
	struct message message = {0};
	uint32_t *words = NULL;

	STEP(cudaMalloc((void **)&words, 3 * MIB));
	work_check(words, NULL, 21);
	if (words != NULL)
		message.good = STEP(cudaIpcGetMemHandle(&message.handle, words));
	tell(message);
	hear();
	STEP(cudaFree(words));
	words = NULL;
	STEP(cudaMalloc((void **)&words, 3 * MIB));
	work_check(words, NULL, 22);
	STEP(cudaFree(words));
}

static void importer(void)
{
	struct message message = hear();
	uint32_t *words = NULL, *own = NULL;

	step_note("a handle came", !message.good);
	for (int round = 0; message.good && round < 2; round++) {
		static uint32_t host[WORDS];

		words = NULL;
		STEP(cudaIpcOpenMemHandle((void **)&words, message.handle, cudaIpcMemLazyEnablePeerAccess));
		if (words == NULL)
			continue;
		if (STEP(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost)))
			step_note("words wrong", (int)work_differ(host, 21));
		STEP(cudaIpcCloseMemHandle(words));
	}
	STEP(cudaMalloc((void **)&own, MIB));
	work_check(own, NULL, 23);
	STEP(cudaFree(own));
	tell((struct message){.good = 1});
	STEP(cudaGetLastError());
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {{"ipc", work_warm, {exporter, importer}, work_settle, false}};

	work_init();
	return sweep_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
