/* How the allocator of a device reaches the driver: fills struct gsa_ops, and keeps the events behind its fences. */
#ifndef GS_CORE_DEVICE_OPS_H
#define GS_CORE_DEVICE_OPS_H

#include "shim/core/device.h"

/* Physical memory as we ask for it: on the device, exportable as a file descriptor, usable by RDMA where possible. */
CUmemAllocationProp gs_device_properties(CUdevice device);

/* The fences are over all devices, whichever is given. */
extern const struct gsa_ops gs_device_ops;

/* The smallest of the limits that were set; 0 = none. */
uint64_t gs_device_limit(const struct gs_device *device);

/* The driver refused for want of a current context that lives. */
bool gs_lacks_context(CUresult result);

/* Creates device->allocator from the configuration. Makes no driver call. */
int gs_device_bind(struct gs_device *device);

#endif
