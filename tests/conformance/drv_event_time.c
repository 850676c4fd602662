/* Rule: the time between two records is the time of the work between them. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUevent start, middle, end;
	float first = 0, second = 0;

	rule_start();
	NEED(cuEventCreate(&start, CU_EVENT_DEFAULT));
	NEED(cuEventCreate(&middle, CU_EVENT_DEFAULT));
	NEED(cuEventCreate(&end, CU_EVENT_DEFAULT));
	rule_delay(NULL, 1);
	NEED(cuCtxSynchronize());
	NEED(cuEventRecord(start, NULL));
	rule_delay(NULL, 1000);
	NEED(cuEventRecord(middle, NULL));
	rule_delay(NULL, 3000);
	NEED(cuEventRecord(end, NULL));
	WANT(cuEventElapsedTime(&first, start, end), CUDA_ERROR_NOT_READY);
	NEED(cuEventSynchronize(end));
	NEED(cuEventElapsedTime(&first, start, middle));
	NEED(cuEventElapsedTime(&second, middle, end));
	WANT(first > 0 && second > 2 * first && second < 4 * first, 1);
	return rule_broken;
}
