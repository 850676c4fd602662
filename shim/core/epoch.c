/* See epoch.h. */
#include "shim/core/epoch.h"

_Atomic uint64_t gs_epoch_now = 1;
