/* Rule: every function, asked for by its name, its own version and its stream mode, is the exported one. */
#include "tests/conformance/rule_drv.h"

struct row {
	const char *symbol;
	const char *name;
	int version;
	bool twin;
};

static const struct row rows[] = {
#define SIM_FN(symbol, name, since, twin) {#symbol, name, since, twin},
#include "tests/sim/cuda/driver_names.def"
};

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		CUdriverProcAddressQueryResult status = 99;
		void *pointer = NULL;

		NEED(cuGetProcAddress(row->name, &pointer, row->version,
				      row->twin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0, &status));
		if (status != CU_GET_PROC_ADDRESS_SUCCESS || pointer != dlsym(driver, row->symbol)) {
			printf("(%s, %d, %d): status %d pointer %p\n", row->name, row->version, row->twin, (int)status,
			       pointer);
			rule_broken = 1;
		}
	}
	return rule_broken;
}
