/* Texts of the error codes of err.h. */
#include "shim/base/err.h"

const char *gs_error_text(int error)
{
	switch (error) {
	case GS_OK:
		return "no error";
#define GS_ERROR_TEXT(name, value, text)                                                                               \
	case name:                                                                                                     \
		return text;
		GS_ERRORS(GS_ERROR_TEXT)
#undef GS_ERROR_TEXT
	}
	return "unknown error";
}
