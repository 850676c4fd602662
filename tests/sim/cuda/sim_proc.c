/* How a program finds driver functions: cuGetProcAddress and _v2 by (name, version, flags), and cuGetExportTable.
 *
 * The rule: of the rows of a name, the one with the highest version that is not above the asked one; with
 * CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM the twin is preferred where both are equally new, without the flag
 * twins are not considered. Rows newer than the simulated driver's own version do not exist.
 *
 * Who passes a place for the status reads there that nothing was found: the call itself succeeds. */
#include "tests/sim/cuda/sim_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_conf.h"

struct proc {
	const char *name;
	int since;
	bool twin;
	void *entry;
};

/* Assembly names, because some symbols are macros or have no declaration. */
#define SIM_FN(symbol, name, since, twin) extern char proc_##symbol __asm__(#symbol);
#include "tests/sim/cuda/driver_names.def"
#undef SIM_FN

static const struct proc procs[] = {
#define SIM_FN(symbol, name, since, twin) {name, since, twin, &proc_##symbol},
#include "tests/sim/cuda/driver_names.def"
#undef SIM_FN
};

#define PROC_COUNT (sizeof(procs) / sizeof(procs[0]))

static void proc_log(const char *name, int version, cuuint64_t flags)
{
	const char *path = getenv("SIM_LOG_PROC_ADDRESS");
	char line[160];
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	int length;

	if (fd < 0)
		return;
	length =
	    snprintf(line, sizeof(line), "%s %d %llu\n", *name ? name : "\"\"", version, (unsigned long long)flags);
	if (write(fd, line, (size_t)length) != length)
		fprintf(stderr, "gpushim-sim: cannot write %s\n", path);
	close(fd);
}

static CUresult proc_find(const char *name, void **pfn, int version, cuuint64_t flags,
			  CUdriverProcAddressQueryResult *status)
{
	const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	const struct proc *best = NULL;
	bool exists = false;

	if (!name || !pfn || (flags & ~known) || (flags & known) == known)
		return CUDA_ERROR_INVALID_VALUE;
	proc_log(name, version, flags);
	for (size_t i = 0; i < PROC_COUNT; i++) {
		const struct proc *proc = &procs[i];

		if (strcmp(proc->name, name) != 0 || proc->since > sim_conf()->driver_version)
			continue;
		exists = true;
		if (proc->since <= version && (per_thread || !proc->twin) && (!best || proc->since >= best->since))
			best = proc;
	}
	*pfn = best ? best->entry : NULL;
	*status = best	   ? CU_GET_PROC_ADDRESS_SUCCESS
		  : exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;

	SIM_ENTER(cuGetProcAddress);
	CUresult result = proc_find(symbol, pfn, version, flags, &status);

	return result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult unasked;

	SIM_ENTER(cuGetProcAddress_v2);
	return proc_find(symbol, pfn, version, flags, status ? status : &unasked);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static bool said;

	SIM_ENTER(cuGetExportTable);
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!said)
		fprintf(stderr, "gpushim-sim: this program carries a static CUDA runtime, which needs private driver "
				"tables; rebuild it with -cudart shared\n");
	said = true;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDriverGetVersion(int *version)
{
	SIM_ENTER(cuDriverGetVersion);
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = sim_conf()->driver_version;
	return CUDA_SUCCESS;
}

int sim_stub_call(enum sim_fn fn);

int sim_stub_call(enum sim_fn fn)
{
	CUresult fault = sim_enter(fn);

	sim_leave(&fault);
	return fault == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : fault;
}
