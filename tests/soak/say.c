/* What a program prints: see say.h. */
#include "tests/soak/say.h"

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned operation;
static unsigned long refusals;

void say_operation(unsigned number)
{
	operation = number;
}

void say(const char *format, ...)
{
	va_list arguments;

	printf("%u ", operation);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

void need(int error, const char *call)
{
	if (error == 0)
		return;
	say("unexpected: %s gives %d", call, error);
	fflush(stdout);
	_Exit(9);
}

void say_code(const char *call, int error)
{
	say("%s: %d, last error %d", call, error, cudaGetLastError());
}

bool say_is_small(void)
{
	static int small = -1;

	if (small < 0)
		small = getenv("PROGRAM_SMALL") != NULL;
	return small != 0;
}

bool say_allocated(const char *call, size_t size_bytes, int error)
{
	if (error == cudaErrorMemoryAllocation) {
		refusals++;
		cudaGetLastError();
	} else {
		need(error, call);
	}
	if (say_is_small())
		say("%s of %zu", call, size_bytes);
	else
		say("%s of %zu: %d", call, size_bytes, error);
	return error == 0;
}

unsigned long say_refusals(void)
{
	return refusals;
}

uint64_t digest_words(const uint32_t *words, uint64_t count)
{
	uint64_t digest = 0xCBF29CE484222325ull;

	for (uint64_t i = 0; i < count; i++)
		digest = (digest ^ words[i]) * 0x100000001B3ull ^ digest >> 29;
	return digest;
}
