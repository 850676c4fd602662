/* One macro for the GPU test programs: a call that must succeed, or the program says which one did not and ends. */
#ifndef GPU_CHECK_H
#define GPU_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* For calls that return 0 on success: runtime, driver and cuBLAS alike. */
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int check_rc = (int)(call);                                                                            \
		if (check_rc) {                                                                                        \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_rc);                 \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: wrong result: %s\n", __FILE__, __LINE__, #condition);                  \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
