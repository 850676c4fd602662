/* The simulated kernels of the programs. All work on 32-bit words. What `mix` leaves depends on the order of work. */
#ifndef SOAK_KERNELS_H
#define SOAK_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

void kernels_start(void);

/* dst[i] = some function of dst[i], src[i], i and salt */
void kernel_mix(uint32_t *dst, const uint32_t *src, uint64_t count, uint32_t salt, cudaStream_t stream);

/* dst[i] = some function of i and salt */
void kernel_fill(uint32_t *dst, uint64_t count, uint32_t salt, cudaStream_t stream);

/* *result = digest of the words */
void kernel_digest(const uint32_t *src, uint64_t count, uint64_t *result, cudaStream_t stream);

/* *flag = value */
void kernel_flag(uint32_t *flag, uint32_t value, cudaStream_t stream);

/* Takes that many steps of the simulated device. */
void kernel_delay(uint32_t steps, cudaStream_t stream);

/* The same on the host. */
void host_mix(uint32_t *dst, const uint32_t *src, uint64_t count, uint32_t salt);
void host_fill(uint32_t *dst, uint64_t count, uint32_t salt);

#endif
