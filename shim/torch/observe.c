/* torch:observe. See torch.h. */
#include <string.h>

#include "shim/api/cuda.h"
#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/core/conf.h"
#include "shim/core/mode.h"
#include "shim/torch/torch.h"
#include "shim/watch/note.h"

#define C10_DEVICE_CUDA 1 /* c10::DeviceType::CUDA */

/* c10::Device: two bytes, passed by value in a register. */
struct c10_device {
	int8_t type;
	int8_t index;
};

typedef void report_fn(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
		       struct c10_device device);

/* Both manglings: the totals are size_t today and were int64_t in older versions (H31). */
#define REPORT_UNSIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define REPORT_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"

GS_EXPORT report_fn gs_torch_report_unsigned __asm__(REPORT_UNSIGNED);
GS_EXPORT report_fn gs_torch_report_signed __asm__(REPORT_SIGNED);

/* The object that this thread's last caller lies in. */
static _Thread_local struct {
	uintptr_t start, end;
	bool is_torch;
} last_caller __attribute__((tls_model("initial-exec")));

/* What this thread was refused last; 0 = it was served since. */
static _Thread_local uint64_t refused_bytes __attribute__((tls_model("initial-exec")));

bool gs_torch_is_caller(const void *caller)
{
	uintptr_t address = (uintptr_t)caller;
	struct gsb_elf elf;

	if (caller == NULL)
		return false;
	if (address >= last_caller.start && address < last_caller.end)
		return last_caller.is_torch;
	if (gsb_elf_at(caller, &elf) != GS_OK)
		return false;
	last_caller.start = elf.start;
	last_caller.end = elf.end;
	last_caller.is_torch = elf.soname != NULL && strcmp(elf.soname, "libc10_cuda.so") == 0;
	return last_caller.is_torch;
}

bool gs_torch_gives_up(uint64_t size_bytes)
{
	bool again = refused_bytes == size_bytes;

	refused_bytes = again ? 0 : size_bytes;
	return again;
}

void gs_torch_served(void)
{
	refused_bytes = 0;
}

static void observe(const void *pointer, int64_t size_bytes, struct c10_device device, const void *caller)
{
	if (gs_mode() != GS_MODE_ACTIVE || gs_conf.torch != GS_TORCH_OBSERVE || device.type != C10_DEVICE_CUDA ||
	    pointer == NULL || !gs_torch_is_caller(caller))
		return;
	if (size_bytes > 0) {
		gs_torch_served();
		gs_note_tensor_alloc(pointer, (uint64_t)size_bytes, (uint8_t)device.index, caller);
	} else if (size_bytes < 0) {
		gs_note_tensor_free(pointer);
	}
}

/* PyTorch's own function; NULL if it cannot be found, then the report ends here. */
static report_fn *real_report(_Atomic(report_fn *) *slot, const char *symbol)
{
	report_fn *real = *slot;
	struct gsb_elf elf;

	if (real == NULL && gsb_elf_named("libc10.so", &elf) == GS_OK) {
		real = (report_fn *)gsb_elf_symbol(&elf, symbol);
		*slot = real;
	}
	return real;
}

void gs_torch_report_unsigned(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
			      struct c10_device device)
{
	static _Atomic(report_fn *) slot;
	report_fn *real = real_report(&slot, REPORT_UNSIGNED);

	observe(pointer, size_bytes, device, __builtin_return_address(0));
	if (real != NULL)
		real(pointer, size_bytes, allocated_bytes, reserved_bytes, device);
}

void gs_torch_report_signed(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
			    struct c10_device device)
{
	static _Atomic(report_fn *) slot;
	report_fn *real = real_report(&slot, REPORT_SIGNED);

	observe(pointer, size_bytes, device, __builtin_return_address(0));
	if (real != NULL)
		real(pointer, size_bytes, allocated_bytes, reserved_bytes, device);
}
