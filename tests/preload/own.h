/* What the shim does not touch, for tests that compare with it: libc's own dlsym, and where an address lies.
 *
 * "dlsym" is no CUDA name, so the shim's dlsym hands out libc's; and with an explicit handle libc does not care who
 * asks. */
#ifndef OWN_H
#define OWN_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *own_dlsym_fn(void *handle, const char *symbol);

static inline void *own_dlsym(void *handle, const char *symbol)
{
	static own_dlsym_fn *dlsym_of_libc;
	void *libc;

	if (dlsym_of_libc == NULL) {
		libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		*(void **)&dlsym_of_libc = dlsym(libc, "dlsym");
	}
	return dlsym_of_libc(handle, symbol);
}

/* "libcuda.so.1": the file name of the object that holds the address; "nowhere". */
static inline const char *own_home(const void *address)
{
	Dl_info info;
	const char *slash;

	if (address == NULL || dladdr(address, &info) == 0)
		return "nowhere";
	slash = strrchr(info.dli_fname, '/');
	return slash != NULL ? slash + 1 : info.dli_fname;
}

static inline bool own_is_shim(const void *address)
{
	return strcmp(own_home(address), "libgpushim.so") == 0;
}

/* A loaded library, or the end of the program. */
static inline void *own_library(const char *name, int flags)
{
	void *handle = dlopen(name, flags);

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return handle;
}

#endif
