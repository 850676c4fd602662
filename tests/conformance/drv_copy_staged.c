/* Rule: an asynchronous copy reads a pageable source at the call and has written a pageable destination when it
 * returns; operations of one stream run in order. */
#include <string.h>

#include "tests/conformance/rule_drv.h"

int main(void)
{
	static unsigned char host[4096], back[4096];
	CUdeviceptr a, b;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, sizeof(host)));
	NEED(cuMemAlloc(&b, sizeof(host)));
	memset(host, 1, sizeof(host));
	NEED(cuMemcpyHtoDAsync(a, host, sizeof(host), stream));
	memset(host, 2, sizeof(host));
	NEED(cuMemcpyDtoDAsync(b, a, sizeof(host), stream));
	NEED(cuMemsetD8Async(a, 9, sizeof(host), stream));
	NEED(cuMemcpyDtoHAsync(back, b, sizeof(host), stream));
	WANT(back[0], 1);
	WANT(back[4095], 1);
	NEED(cuMemcpyDtoHAsync(back, a, sizeof(host), stream));
	WANT(back[77], 9);
	return rule_broken;
}
