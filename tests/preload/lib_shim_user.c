/* A library that is linked to libgpushim.so, against the advice of gpushim.h. */
#include "shim/gpushim.h"

int lib_user(void);

int lib_user(void)
{
	return gpushim_version()[0] - '0' + (gpushim_trim(99, 0) != 0);
}
