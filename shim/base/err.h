/* Error codes used inside gpushim.
 *
 * Functions return 0 or one of these negative codes; results go through ret_x parameters, which are written only
 * on success. Only shim/wrap/ translates between these and CUresult or cudaError_t. Nothing outside this list is
 * ever returned as an error by our own code. */
#ifndef GSB_ERR_H
#define GSB_ERR_H

/*  X(name, value, text) */
#define GS_ERRORS(X)                                                                                                   \
	X(GS_E_NO_MEMORY, -1, "out of device memory")                                                                  \
	X(GS_E_NO_HOST_MEMORY, -2, "out of host memory")                                                               \
	X(GS_E_BUSY, -3, "not complete yet")                                                                           \
	X(GS_E_INVALID, -4, "invalid argument")                                                                        \
	X(GS_E_NOT_FOUND, -5, "not found")                                                                             \
	X(GS_E_UNSUPPORTED, -6, "not supported here")                                                                  \
	X(GS_E_DRIVER, -7, "the CUDA driver refused")                                                                  \
	X(GS_E_IO, -8, "input or output failed")                                                                       \
	X(GS_E_LIMIT, -9, "a fixed limit was reached")                                                                 \
	X(GS_E_FORBIDDEN, -10, "not allowed at this moment")

enum gs_error {
	GS_OK = 0,
#define GS_ERROR_ENUM(name, value, text) name = value,
	GS_ERRORS(GS_ERROR_ENUM)
#undef GS_ERROR_ENUM
};

/* A short English text without a final period; never NULL. */
const char *gs_error_text(int error);

#endif
