/* Libraries of CUDA that a test program loads at run time: it stays small, builds without them, and ends with status 77 and
 * one word where they are missing. */
#ifndef GPU_LOAD_H
#define GPU_LOAD_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *load_library(const char *name, const char *word)
{
	void *library = dlopen(name, RTLD_NOW);

	if (!library) {
		printf("%s\nabsent %s\n", dlerror(), word);
		exit(77);
	}
	return library;
}

static inline void *load_symbol(void *library, const char *symbol)
{
	void *address = dlsym(library, symbol);

	if (!address) {
		fprintf(stderr, "there is no %s\n", symbol);
		exit(1);
	}
	return address;
}

/* FNV-1a: results in one number. */
static inline uint64_t digest(const void *bytes, size_t size_bytes)
{
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < size_bytes; i++)
		sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
	return sum;
}

/* The function `name` of the library, by its type in the header. */
#define LOAD(library, name) ((__typeof__(&name))load_symbol(library, #name))

#endif
