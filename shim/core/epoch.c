/* See epoch.h. */
#include "shim/core/epoch.h"

#include "shim/base/hot.h"

GSB_HOT _Atomic uint64_t gs_epoch_now = 1;
