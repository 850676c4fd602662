/* Rule: a query says NOT_READY while work is pending and does not wait; polling ends. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	unsigned polls = 0;
	CUstream stream;
	CUresult result;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	WANT(cuStreamQuery(stream), CUDA_SUCCESS);
	rule_delay(stream, 50);
	do {
		result = cuStreamQuery(stream);
		polls++;
	} while (result == CUDA_ERROR_NOT_READY && polls < 10000000);
	WANT(result, CUDA_SUCCESS);
	WANT(polls > 1, 1);
	return rule_broken;
}
