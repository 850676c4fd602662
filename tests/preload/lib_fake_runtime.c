/* Plays a library with a static CUDA runtime that exports its functions. */
int cudaMalloc(void **pointer, unsigned long size_bytes);
int cudaFree(void *pointer);
int cudaRuntimeGetVersion(int *version);

int cudaMalloc(void **pointer, unsigned long size_bytes)
{
	static char memory[64];

	*pointer = memory;
	return size_bytes <= sizeof(memory) ? 0 : 2;
}

int cudaFree(void *pointer)
{
	return pointer == (void *)0 ? 0 : 7;
}

int cudaRuntimeGetVersion(int *version)
{
	*version = 7777;
	return 0;
}
