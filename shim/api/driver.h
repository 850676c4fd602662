/* The real driver functions, one typed slot per row of the table.
 *
 * Inside gpushim the driver is called only through these slots: cuX() would be our own entry. Slots are written once,
 * by gs_driver_use, before the process counts as started; a slot is NULL when the driver does not have the
 * function. */
#ifndef GS_API_DRIVER_H
#define GS_API_DRIVER_H

#include "shim/api/cuda.h"
#include "shim/api/fn.h"
#include "shim/base/elf.h"
#include "shim/base/hot.h"

#define GS_DRIVER_SONAME "libcuda.so.1"

struct gs_driver {
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	PFN_##name##_v##since##suffix symbol;
#include "shim/api/driver.def"
};

extern GSB_OURS struct gs_driver gs_driver;

/* Start in two steps, because the first needs the dynamic loader's lock, which a caller may hold or another thread may
 * hold while it waits for us: it is done with no lock of ours held, by every thread that comes first. */
struct gs_driver_found {
	struct gsb_elf elf;
};

/* Finds libcuda.so.1 among the loaded objects, or loads it. GS_E_NOT_FOUND: there is no driver on this machine. */
int gs_driver_find(struct gs_driver_found *ret_found);

/* Fills the slots. Once, under the BOOT lock. */
void gs_driver_use(const struct gs_driver_found *found);

/* A library is about to be closed, maybe the last one that needs the driver. It stays, for what the slots hold. Takes the
 * loader's lock, as the caller is about to do. */
void gs_driver_keep(void);

/* What the driver says, as one of our codes. */
int gs_driver_error(CUresult result);

/* The real function of a row of driver.def; NULL if the driver lacks it. */
void *gs_driver_slot(enum gs_fn fn);

/* True when the address lies in libcuda itself. */
bool gs_driver_contains(const void *address);

#endif
