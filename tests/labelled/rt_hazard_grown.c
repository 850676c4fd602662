/* A part of what is registered was registered once by itself; all of it is given back while a copy reads what lies behind that part.
 * settings: hazards:on
 * hazard: pinned_freed in give_back
 */
#include "tests/labelled/two_streams.h"

enum { PAGE = 4096, PAGES = 4 };

static _Alignas(PAGE) char batch[PAGES * PAGE];

static APART void give_back(void)
{
	NEED(cudaHostUnregister(batch));
}

int main(void)
{
	uint32_t *words = words_new();

	start();
	for (int i = 0; i < 3; i++) {
		NEED(cudaHostRegister(batch + PAGE, PAGE, cudaHostRegisterDefault));
		NEED(cudaHostUnregister(batch + PAGE));
		NEED(cudaHostRegister(batch, sizeof(batch), cudaHostRegisterDefault));
		NEED(cudaMemcpyAsync(words, batch + 2 * PAGE, 64, cudaMemcpyHostToDevice, first));
		give_back();
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
