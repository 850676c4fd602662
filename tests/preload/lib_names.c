/* Functions whose names begin as the driver's do, and one with the very name of a driver function, in a library that
 * is not the driver. */
#define NAMED(name)                                                                                                    \
	int name(void);                                                                                                \
	int name(void)                                                                                                 \
	{                                                                                                              \
		return __LINE__;                                                                                       \
	}

NAMED(cudnnCreate)
NAMED(cublasCreate_v2)
NAMED(curl_easy_init)
NAMED(cuFakeThing)
NAMED(cuMemAlloc_v2)
NAMED(cudaFakeThing)
NAMED(cudaMalloc)
