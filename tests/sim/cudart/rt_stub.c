/* A default entry for every runtime function that no other file here defines: cudaErrorNotSupported. Does not include
 * the CUDA headers: the entries ignore their arguments. */
#define RT_NOT_SUPPORTED 801

#define RT_STUB(name)                                                                                                  \
	__attribute__((weak, visibility("default"))) int name(void);                                                   \
	int name(void)                                                                                                 \
	{                                                                                                              \
		return RT_NOT_SUPPORTED;                                                                               \
	}
#define RT_FN(name) RT_STUB(name)
#if SIM_CUDART_MAJOR == 12
#define RT_FN12(name) RT_STUB(name)
#define RT_FN13(name)
#else
#define RT_FN12(name)
#define RT_FN13(name) RT_STUB(name)
#endif
#include "tests/sim/cudart/runtime_names.def"
