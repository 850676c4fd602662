/* Loops whose rounds are steps:
 *   train    two epochs of training and testing; every tenth training step one kernel more
 *   layers   a network of 16 layers, forward and back, with its value read at the end of each step
 *   decode   prompts, each followed by tokens that need more and more kernels
 *   marked   one kernel again and again, where the program says what a step is
 *   odd      a loop in which step 70 of 100 allocates, loads code, copies and launches more
 *   threads  the forward part by the main thread, the backward part by another one, three times as many kernels */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/preload/kernel.h"

#define APART __attribute__((noinline, noclone))

enum { WORDS = 64, STEPS = 100 };

static uint32_t *words, *more;

/* Kernels at places of their own. */
#define PLACE(name)                                                                                                    \
	static APART void name(void)                                                                                   \
	{                                                                                                              \
		kernel_fill(words, 1, WORDS, NULL);                                                                    \
		__asm__ volatile("# " #name);                                                                               \
	}
PLACE(embed) PLACE(norm) PLACE(attend) PLACE(project) PLACE(gate) PLACE(head) PLACE(choose) PLACE(loss)
PLACE(norm_back) PLACE(attend_back) PLACE(project_back) PLACE(gate_back) PLACE(optimize) PLACE(extra) PLACE(measure)
PLACE(prompt) PLACE(cache)

static void layer(void)
{
	norm();
	attend();
	project();
	gate();
}

static void layer_back(void)
{
	gate_back();
	project_back();
	attend_back();
	norm_back();
}

static float read_value(void)
{
	float value;

	NEED(cudaMemcpy(&value, words, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static void train_step(unsigned step)
{
	embed();
	layer();
	head();
	loss();
	layer_back();
	optimize();
	if (step % 10 == 9)
		extra();
}

static void train(void)
{
	for (unsigned epoch = 0; epoch < 2; epoch++) {
		for (unsigned step = 0; step < STEPS; step++)
			train_step(step);
		for (unsigned step = 0; step < STEPS / 2; step++) {
			prompt();
			cache();
			choose();
			measure();
		}
	}
}

static void layers(void)
{
	for (unsigned step = 0; step < STEPS; step++) {
		embed();
		for (unsigned i = 0; i < 16; i++)
			layer();
		head();
		loss();
		for (unsigned i = 0; i < 16; i++)
			layer_back();
		optimize();
		choose();
		read_value();
	}
}

static void decode(void)
{
	for (unsigned request = 0; request < 4; request++) {
		for (unsigned i = 0; i < 16; i++)
			prompt();
		cache();
		for (unsigned token = 0; token < STEPS / 2; token++) {
			embed();
			for (unsigned i = 0; i < 24; i++) {
				layer();
				for (unsigned part = 0; part <= token / 16; part++)
					cache();
			}
			head();
			choose();
			read_value();
		}
	}
}

static void marked(void)
{
	int (*step_ends)(void);

	*(void **)&step_ends = dlsym(RTLD_DEFAULT, "gpushim_step");
	for (unsigned step = 0; step <= STEPS; step++) {
		for (unsigned i = 0; i < 5; i++)
			train_step(i);
		if (step_ends != NULL && step_ends() != 0)
			exit(3);
	}
}

static void odd(void)
{
	CUresult (*load)(CUmodule *, const void *) = (CUresult(*)(CUmodule *, const void *))dlsym(
		dlopen("libcuda.so.1", RTLD_LAZY), "cuModuleLoadData");

	for (unsigned step = 1; step <= STEPS; step++) {
		train_step(0);
		NEED(cudaMemcpy(words, more, WORDS * sizeof(*words), cudaMemcpyHostToDevice));
		if (step == 70) {
			CUmodule module;

			if (load == NULL || load(&module, "sim_fill") != CUDA_SUCCESS)
				exit(4);
			for (unsigned i = 0; i < 8; i++)
				extra();
			NEED(cudaMemcpy(words, more, 4096 * sizeof(*words), cudaMemcpyHostToDevice));
			NEED(cudaMemcpy(more, words, 2048 * sizeof(*words), cudaMemcpyDeviceToHost));
			NEED(cudaMemcpy(words, words + 2048, 1024 * sizeof(*words), cudaMemcpyDeviceToDevice));
			NEED(cudaDeviceSynchronize());
		}
	}
}

static sem_t forward_done, backward_done;

static void *backward(void *unused)
{
	(void)unused;
	for (unsigned step = 0; step < STEPS; step++) {
		sem_wait(&forward_done);
		loss();
		for (unsigned i = 0; i < 3; i++)
			layer_back();
		sem_post(&backward_done);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	sem_init(&forward_done, 0, 0);
	sem_init(&backward_done, 0, 0);
	pthread_create(&thread, NULL, backward, NULL);
	for (unsigned step = 0; step < STEPS; step++) {
		embed();
		layer();
		head();
		sem_post(&forward_done);
		sem_wait(&backward_done);
		optimize();
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {{"train", train}, {"layers", layers}, {"decode", decode},
			{"marked", marked}, {"odd", odd}, {"threads", threads}};

	kernels_register();
	NEED(cudaMalloc((void **)&words, 4096 * sizeof(*words)));
	NEED(cudaMallocHost((void **)&more, 4096 * sizeof(*more)));
	for (unsigned i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(argv[1], programs[i].name) == 0)
			programs[i].run();
	NEED(cudaDeviceSynchronize());
	return 0;
}
