/* Rule: the simulated driver has no private tables, and says so when one is asked for. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	static const CUuuid id = {.bytes = "gpushim-no-tabl"};
	const void *table = &id;

	rule_start();
	rule_simulator_only("a real driver has tables");
	WANT(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
	WANT(table == NULL, 1);
	WANT(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
	WANT(cuGetExportTable(NULL, &id), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
