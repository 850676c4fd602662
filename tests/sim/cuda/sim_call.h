/* The frame around every simulated driver call: the baton, the call counters, injected faults.
 *
 * One thread at a time is inside the simulated driver: it holds the baton from SIM_ENTER to its return, and hands it
 * over while it waits for another thread. So no structure of the simulator needs a lock of its own, and one seed gives
 * one schedule as long as the program has one thread, or with SIM_THREADS=baton (sim_thread.h). */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/cuda/sim_fn.h"

#define SIM_EXPORT __attribute__((visibility("default")))

/* Takes the baton and counts the call. Not CUDA_SUCCESS: an injected fault that the caller must return. */
CUresult sim_enter(enum sim_fn fn);
void sim_leave(const CUresult *fault);

/* First line of every simulated function. */
#define SIM_ENTER(symbol)                                                                                              \
	__attribute__((cleanup(sim_leave))) const CUresult sim_fault = sim_enter(SIM_FN_##symbol);                     \
	if (sim_fault != CUDA_SUCCESS)                                                                                 \
	return sim_fault

/* For the thread that runs the program's host functions. */
void sim_baton_take(void);
void sim_baton_give(void);

/* Sleeps until another thread has called sim_baton_signal; _for gives up after that time. */
void sim_baton_wait(void);
void sim_baton_wait_for(unsigned ms);
void sim_baton_signal(void);

/* Driver calls made so far, and the latest of them. */
unsigned long sim_calls_total(void);
enum sim_fn sim_call_fn(void);

/* The calling thread: numbered from 1 as they make their first call, or as they begin with SIM_THREADS=baton. */
unsigned sim_call_thread(void);

/* Faults that have fired. */
unsigned long sim_faults_total(void);

/* True in the child of a fork of a process that had made a driver call. */
bool sim_forked(void);

/* Returns from the calling function with any result that is not CUDA_SUCCESS. */
#define SIM_TRY(expression)                                                                                            \
	do {                                                                                                           \
		CUresult sim_try_ = (expression);                                                                      \
		if (sim_try_ != CUDA_SUCCESS)                                                                          \
			return sim_try_;                                                                               \
	} while (0)

#define SIM_UNPAREN(...) __VA_ARGS__

/* A function and its per-thread-default-stream twin with one body, which sees `bool per_thread`. */
#define SIM_TWIN(symbol, suffix, params, args)                                                                         \
	static CUresult symbol##_body(bool per_thread, SIM_UNPAREN params);                                            \
	CUresult symbol params                                                                                         \
	{                                                                                                              \
		SIM_ENTER(symbol);                                                                                     \
		return symbol##_body(false, SIM_UNPAREN args);                                                         \
	}                                                                                                              \
	CUresult symbol##suffix params                                                                                 \
	{                                                                                                              \
		SIM_ENTER(symbol##suffix);                                                                             \
		return symbol##_body(true, SIM_UNPAREN args);                                                          \
	}                                                                                                              \
	static CUresult symbol##_body(bool per_thread, SIM_UNPAREN params)

#endif
