/* An event of another process has the handle of one that was destroyed: what it waits for is not known.
 * settings: hazards:on
 */
#include <string.h>
#include <unistd.h>

#include "tests/labelled/two_streams.h"

enum { EVENTS = 64 };

/* The other process, without gpushim. */
static int lend(void)
{
	cudaIpcEventHandle_t handle;
	cudaEvent_t lent;

	NEED(cudaEventCreateWithFlags(&lent, cudaEventDisableTiming | cudaEventInterprocess));
	NEED(cudaIpcGetEventHandle(&handle, lent));
	return write(1, &handle, sizeof(handle)) != sizeof(handle) || read(0, &handle, 1) != 0;
}

static void borrow(int *ret_until, cudaIpcEventHandle_t *ret_handle)
{
	int in[2], out[2];

	if (pipe(in) != 0 || pipe(out) != 0)
		exit(2);
	if (fork() == 0) {
		dup2(out[0], 0);
		dup2(in[1], 1);
		close(out[1]);
		unsetenv("LD_PRELOAD");
		execl("/proc/self/exe", "lend", "lend", (char *)NULL);
		_exit(2);
	}
	if (read(in[0], ret_handle, sizeof(*ret_handle)) != sizeof(*ret_handle))
		exit(2);
	*ret_until = out[1];
}

int main(int argc, char **argv)
{
	cudaEvent_t events[EVENTS];
	cudaIpcEventHandle_t handle;
	uint32_t *words;
	bool again = false;
	int until;

	if (argc > 1 && strcmp(argv[1], "lend") == 0)
		return lend();
	borrow(&until, &handle);
	words = words_new();
	start();
	for (int i = 0; i < EVENTS; i++) {
		NEED(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
		NEED(cudaEventRecord(events[i], first));
	}
	for (int i = 0; i < EVENTS; i++)
		NEED(cudaEventDestroy(events[i]));
	NEED(cudaIpcOpenEventHandle(&event, handle));
	for (int i = 0; i < EVENTS; i++)
		again |= events[i] == event;
	for (int i = 0; i < 5 && again; i++) {
		kernel_fill(words, 2, 16, first);
		NEED(cudaStreamWaitEvent(second, event, 0));
		NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, second));
		NEED(cudaDeviceSynchronize());
	}
	close(until);
	return again ? 0 : 3;
}
