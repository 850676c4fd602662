/* The host's share of the work: host functions in streams, memory that both sides touch, a word that the host watches.
 * Declared in work.h. */
#include "tests/soak/work.h"

#include <stdlib.h>

#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"

struct host_work {
	uint32_t *words;
	uint64_t count;
	uint32_t salt;
};

static void CUDART_CB host_work_run(void *argument)
{
	struct host_work *work = argument;

	host_mix(work->words, work->words, work->count, work->salt);
	free(work);
}

void work_host_function(int stream)
{
	struct buffer *buffer = buffer_pick_host();
	struct host_work *work;

	if (buffer == NULL)
		return;
	work = malloc(sizeof(*work));
	*work = (struct host_work){buffer->words, 1 + draw((uint32_t)buffer->count), draw(1u << 31)};
	say("a host function mixes %llu words of buffer %d", (unsigned long long)work->count, buffer_number(buffer));
	buffer_use(stream, buffer, NULL);
	if (way(2) == 0)
		NEED_OK(cudaLaunchHostFunc(streams[stream].handle, host_work_run, work));
	else
		NEED_OK(cuLaunchHostFunc(streams[stream].handle, host_work_run, work));
}

void work_on_host(int stream)
{
	struct buffer *buffer = buffer_pick_host();
	uint64_t count;

	(void)stream;
	if (buffer == NULL)
		return;
	count = 1 + draw((uint32_t)buffer->count);
	if (draw(2) == 0) {
		buffer_host_read(buffer);
		say("the host reads %llu words of buffer %d: %016llx", (unsigned long long)count, buffer_number(buffer),
		    (unsigned long long)digest_words(buffer->words, count));
		return;
	}
	buffer_host_write(buffer);
	host_mix(buffer->words, buffer->words, count, draw(1u << 31));
	say("the host mixes %llu words of buffer %d", (unsigned long long)count, buffer_number(buffer));
}

void work_handshake(int stream)
{
	static volatile uint32_t *flag;
	static uint32_t value;
	struct clock clock;

	if (flag == NULL) {
		context_enter(0);
		NEED_OK(cudaHostAlloc((void **)&flag, sizeof(*flag), cudaHostAllocPortable | cudaHostAllocMapped));
		*flag = 0;
		context_enter(streams[stream].context);
	}
	value++;
	stream_submit(stream);
	clock = streams[stream].clock;
	kernel_flag((uint32_t *)flag, value, streams[stream].handle);
	while (*flag != value)
		;
	clock.at[stream]--;
	host_knows(&clock);
	say("handshake %u", value);
}
