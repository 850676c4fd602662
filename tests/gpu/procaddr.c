/* What cuGetProcAddress returns for every typed function of the toolkit, at its own version and flag, and which
 * exported symbol has the same address. Prints one line a function, "name version flag symbol", then a line of totals.
 * The mapping must be the same with and without the shim; "-" stands for an address that no exported symbol has. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef CUresult (*get_proc_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static const struct {
	const char *name;
	int version;
	cuuint64_t flags;
} rows[] = {
#define ROW(name, version, flags) {#name, version, flags},
#include "procaddr_list.h"
};

static const char *find_symbol(void *driver, const char *name, const void *address)
{
	static const char *const versions[] = {"", "_v2", "_v3", "_v4"};
	static const char *const twins[] = {"", "_ptsz", "_ptds"};
	static char symbol[256];

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		for (size_t k = 0; k < sizeof(twins) / sizeof(*twins); k++) {
			snprintf(symbol, sizeof(symbol), "%s%s%s", name, versions[i], twins[k]);
			if (dlsym(driver, symbol) == address)
				return symbol;
		}
	}
	return "-";
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	get_proc_address get = NULL;
	unsigned found = 0, same = 0, total = sizeof(rows) / sizeof(*rows);

	if (driver)
		get = (get_proc_address)dlsym(driver, "cuGetProcAddress_v2");
	if (!get) {
		fprintf(stderr, "no driver: %s\n", dlerror());
		return 1;
	}
	for (unsigned i = 0; i < total; i++) {
		void *address = NULL;
		const char *symbol;

		if (get(rows[i].name, &address, rows[i].version, rows[i].flags, NULL) || !address) {
			printf("%s %d %d none\n", rows[i].name, rows[i].version, (int)rows[i].flags);
			continue;
		}
		symbol = find_symbol(driver, rows[i].name, address);
		found++;
		same += strcmp(symbol, "-") != 0;
		printf("%s %d %d %s\n", rows[i].name, rows[i].version, (int)rows[i].flags, symbol);
	}
	printf("ok %u functions, %u found, %u with the address of an exported symbol\n", total, found, same);
	return 0;
}
