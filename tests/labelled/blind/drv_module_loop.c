/* A kernel is specialised, that is its module loaded, in each step. On a real device that takes a good part of a millisecond and
 * must be found; the simulated one loads in no time, and nothing has to be said where nothing was lost.
 *
 * finds on a GPU: module-loading in specialise
 * may: module-loading in specialise */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART CUfunction specialise(CUmodule *ret_module)
{
	CUfunction function;

	NEED(cuModuleLoadData(ret_module, work_ptx));
	NEED(cuModuleGetFunction(&function, *ret_module, "sim_fill"));
	return function;
}

int main(void)
{
	static CUmodule modules[STEPS];
	CUstream stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t count = WORDS;
		CUfunction special = specialise(&modules[step]);

		work_launch(special, 128, (void *[]){&words, &step, &count}, stream);
		busy(words, stream);
	}
	NEED(cuStreamSynchronize(stream));
	for (unsigned step = 0; step < STEPS; step++)
		NEED(cuModuleUnload(modules[step]));
	return 0;
}
