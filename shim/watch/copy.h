/* What a copy moves, from the arguments of the driver's function: gs_copy_of_<symbol>(arguments) for each row of class COPY
 * and COPY_ASYNC. Pure: looks at nothing but the arguments, which the driver has not checked yet. */
#ifndef GS_WATCH_COPY_H
#define GS_WATCH_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/cuda.h"

/*  X(name, key in the snapshot, meaning) */
#define GS_COPY_WAYS(X)                                                                                                \
	X(NONE, "none", "no copy, or of unknown direction")                                                            \
	X(TO_DEVICE, "to_device", "from the host to the device")                                                       \
	X(TO_HOST, "to_host", "from the device to the host")                                                           \
	X(ON_DEVICE, "on_device", "within a device or between devices")                                                \
	X(ON_HOST, "on_host", "from host memory to host memory")

enum gs_copy_way {
#define GS_COPY_ENUM(name, key, text) GS_COPY_##name,
	GS_COPY_WAYS(GS_COPY_ENUM)
#undef GS_COPY_ENUM
	GS_COPY_WAY_COUNT
};

/* One end of a copy: host memory, memory of a device (also arrays), or an address of either kind. */
enum gs_copy_end { GS_COPY_AT_DEVICE, GS_COPY_AT_HOST, GS_COPY_ANYWHERE };

struct gs_copy {
	const void *from, *to; /* the address; NULL for an array */
	uint64_t size_bytes;
	enum gs_copy_end from_end, to_end;
	bool flat; /* one range of bytes on each side */
};

static inline struct gs_copy gs_copy_make(enum gs_copy_end to_end, uintptr_t to, enum gs_copy_end from_end, uintptr_t from,
					  uint64_t size_bytes)
{
	return (struct gs_copy){(const void *)from, (const void *)to, size_bytes, from_end, to_end, true};
}

static inline struct gs_copy gs_copy_on_device(uintptr_t to, uintptr_t from, uint64_t size_bytes)
{
	return gs_copy_make(GS_COPY_AT_DEVICE, to, GS_COPY_AT_DEVICE, from, size_bytes);
}

static inline struct gs_copy gs_copy_of_rows(struct gs_copy copy)
{
	copy.flat = false;
	return copy;
}

static inline enum gs_copy_end gs_copy_end_of(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_HOST ? GS_COPY_AT_HOST
					  : type == CU_MEMORYTYPE_UNIFIED ? GS_COPY_ANYWHERE : GS_COPY_AT_DEVICE;
}

/* Members of the same names in CUDA_MEMCPY2D and CUDA_MEMCPY3D. */
#define GS_COPY_OF_SHAPE(shape, rows)                                                                                  \
	gs_copy_of_rows(gs_copy_make(gs_copy_end_of((shape)->dstMemoryType),                                           \
		     (shape)->dstMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : (shape)->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)(shape)->dstHost                        \
								  : (uintptr_t)(shape)->dstDevice,                     \
		     gs_copy_end_of((shape)->srcMemoryType),                                                           \
		     (shape)->srcMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : (shape)->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)(shape)->srcHost                        \
								  : (uintptr_t)(shape)->srcDevice,                     \
		     (uint64_t)(shape)->WidthInBytes * (rows)))

static inline struct gs_copy gs_copy_of_2d(const CUDA_MEMCPY2D *shape)
{
	return shape == NULL ? gs_copy_on_device(0, 0, 0) : GS_COPY_OF_SHAPE(shape, (shape)->Height);
}

static inline struct gs_copy gs_copy_of_3d(const CUDA_MEMCPY3D *shape)
{
	return shape == NULL ? gs_copy_on_device(0, 0, 0) : GS_COPY_OF_SHAPE(shape, (shape)->Height * (shape)->Depth);
}

static inline struct gs_copy gs_copy_of_3d_peer(const CUDA_MEMCPY3D_PEER *shape)
{
	return shape == NULL ? gs_copy_on_device(0, 0, 0) : GS_COPY_OF_SHAPE(shape, (shape)->Height * (shape)->Depth);
}

#define GS_COPY_ANY(to, from, size_bytes) gs_copy_make(GS_COPY_ANYWHERE, to, GS_COPY_ANYWHERE, from, size_bytes)
#define GS_COPY_DOWN(to, from, size_bytes) gs_copy_make(GS_COPY_AT_DEVICE, to, GS_COPY_AT_HOST, (uintptr_t)(from), size_bytes)
#define GS_COPY_UP(to, from, size_bytes)   gs_copy_make(GS_COPY_AT_HOST, (uintptr_t)(to), GS_COPY_AT_DEVICE, from, size_bytes)

#define gs_copy_of_cuMemcpy(to, from, size_bytes)                                GS_COPY_ANY(to, from, size_bytes)
#define gs_copy_of_cuMemcpyAsync(to, from, size_bytes, stream)                   GS_COPY_ANY(to, from, size_bytes)
#define gs_copy_of_cuMemcpyPeer(to, to_context, from, from_context, size_bytes)  gs_copy_on_device(to, from, size_bytes)
#define gs_copy_of_cuMemcpyPeerAsync(to, to_context, from, from_context, size_bytes, stream) gs_copy_on_device(to, from, size_bytes)
#define gs_copy_of_cuMemcpyHtoD_v2(to, from, size_bytes)                         GS_COPY_DOWN(to, from, size_bytes)
#define gs_copy_of_cuMemcpyHtoDAsync_v2(to, from, size_bytes, stream)            GS_COPY_DOWN(to, from, size_bytes)
#define gs_copy_of_cuMemcpyHtoA_v2(to, offset, from, size_bytes)                 GS_COPY_DOWN(0, from, size_bytes)
#define gs_copy_of_cuMemcpyHtoAAsync_v2(to, offset, from, size_bytes, stream)    GS_COPY_DOWN(0, from, size_bytes)
#define gs_copy_of_cuMemcpyDtoH_v2(to, from, size_bytes)                         GS_COPY_UP(to, from, size_bytes)
#define gs_copy_of_cuMemcpyDtoHAsync_v2(to, from, size_bytes, stream)            GS_COPY_UP(to, from, size_bytes)
#define gs_copy_of_cuMemcpyAtoH_v2(to, from, offset, size_bytes)                 GS_COPY_UP(to, 0, size_bytes)
#define gs_copy_of_cuMemcpyAtoHAsync_v2(to, from, offset, size_bytes, stream)    GS_COPY_UP(to, 0, size_bytes)
#define gs_copy_of_cuMemcpyDtoD_v2(to, from, size_bytes)                         gs_copy_on_device(to, from, size_bytes)
#define gs_copy_of_cuMemcpyDtoDAsync_v2(to, from, size_bytes, stream)            gs_copy_on_device(to, from, size_bytes)
#define gs_copy_of_cuMemcpyDtoA_v2(to, offset, from, size_bytes)                 gs_copy_on_device(0, from, size_bytes)
#define gs_copy_of_cuMemcpyAtoD_v2(to, from, offset, size_bytes)                 gs_copy_on_device(to, 0, size_bytes)
#define gs_copy_of_cuMemcpyAtoA_v2(to, to_offset, from, from_offset, size_bytes) gs_copy_on_device(0, 0, size_bytes)
#define gs_copy_of_cuMemcpy2D_v2(shape)                                          gs_copy_of_2d(shape)
#define gs_copy_of_cuMemcpy2DUnaligned_v2(shape)                                 gs_copy_of_2d(shape)
#define gs_copy_of_cuMemcpy2DAsync_v2(shape, stream)                             gs_copy_of_2d(shape)
#define gs_copy_of_cuMemcpy3D_v2(shape)                                          gs_copy_of_3d(shape)
#define gs_copy_of_cuMemcpy3DAsync_v2(shape, stream)                             gs_copy_of_3d(shape)
#define gs_copy_of_cuMemcpy3DPeer(shape)                                         gs_copy_of_3d_peer(shape)
#define gs_copy_of_cuMemcpy3DPeerAsync(shape, stream)                            gs_copy_of_3d_peer(shape)

#endif
