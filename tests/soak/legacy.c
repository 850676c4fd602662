/* What the legacy default stream keeps in order by frees, with nothing else in between: see work.h. Other work of that stream would
 * keep the same in order, and hide that a free does not. */
#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"
#include "tests/soak/work.h"

/* By what memory is written. Mostly one way: work of each kind is to be noticed. */
enum manner { BY_COPY, BY_SET, BY_LAUNCH, MANNERS };

/* What is freed and had again, what is only written and read, and what is copied from; as large as each other. */
struct trio {
	enum buffer_kind kind;
	uint64_t count;
	unsigned manner; /* MANNERS: any */
	struct buffer turn, seen, source;
};

/* Without a wait of the host, and all of it. */
static void write_all(const struct trio *trio, struct buffer *buffer, struct buffer *source, int stream)
{
	uint32_t salt = draw(1u << 31), manner = trio->manner == MANNERS ? draw(MANNERS) : trio->manner;
	cudaStream_t handle = streams[stream].handle;

	buffer_use(stream, buffer, manner == BY_COPY ? source : NULL);
	if (manner == BY_COPY)
		NEED_OK(cudaMemcpyAsync(buffer->words, source->words, buffer->count * 4, cudaMemcpyDefault, handle));
	else if (manner == BY_SET)
		NEED_OK(cudaMemsetAsync(buffer->words, (int)(salt & 255), buffer->count * 4, handle));
	else
		kernel_fill(buffer->words, buffer->count, salt, handle);
}

/* Work of another stream comes after that of `early` by a free on the legacy stream, though one on any legacy stream came just before. */
static void by_free_on_legacy(struct trio *trio, int legacy, int early)
{
	int before = stream_legacy(context_pick()), late;
	struct buffer first;

	buffer_make(&first, before, trio->kind, trio->count);
	buffer_make(&trio->turn, legacy, trio->kind, trio->count);
	if (draw(3) != 0)
		work_delay(early);
	write_all(trio, &trio->turn, &trio->source, early);
	write_all(trio, &trio->seen, &trio->source, early);
	buffer_free(&first, before);
	buffer_free(&trio->turn, legacy);
	buffer_make(&trio->turn, legacy, trio->kind, trio->count);
	late = stream_pick_of(streams[legacy].context, STREAM_BLOCKING, early);
	if (late < 0)
		late = early;
	write_all(trio, &trio->turn, &trio->seen, late);
	work_digest(&trio->seen, late);
	work_digest(&trio->turn, late);
	buffer_free(&trio->turn, legacy);
}

/* Whoever has waited for `blocking`, on which memory was freed, has waited for the legacy stream. */
static void by_free_on_blocking(struct trio *trio, int legacy, int blocking)
{
	int aside = stream_pick_of(streams[legacy].context, STREAM_NON_BLOCKING, -1);

	if (aside < 0)
		return;
	buffer_make(&trio->turn, blocking, trio->kind, trio->count);
	if (trio->manner >= BY_LAUNCH && draw(2) == 0)
		work_delay(legacy);
	write_all(trio, &trio->turn, &trio->source, legacy);
	write_all(trio, &trio->seen, &trio->source, legacy);
	buffer_free(&trio->turn, blocking);
	if (way(2) == 0)
		stream_poll(blocking);
	else
		stream_await(blocking);
	buffer_make(&trio->turn, aside, trio->kind, trio->count);
	write_all(trio, &trio->turn, &trio->seen, aside);
	work_digest(&trio->seen, aside);
	work_digest(&trio->turn, aside);
	buffer_free(&trio->turn, aside);
	stream_await(aside);
}

void work_legacy(int stream)
{
	int context = streams[stream].context, blocking = stream_pick_of(context, STREAM_BLOCKING, -1);
	bool on_legacy = draw(2) == 0;
	unsigned rounds = 1 + draw(6);
	struct trio trio = {.kind = buffer_draw_kind(), .count = buffer_draw_count(), .manner = draw(MANNERS + 1)};

	if (blocking < 0)
		return;
	if (!buffer_kinds[trio.kind].ordered && draw(4) != 0)
		trio.kind = BUFFER_cudaMallocAsync;
	say("%u frees on %s stream, beside stream %d", rounds, on_legacy ? "the legacy" : "a blocking", blocking);
	buffer_make(&trio.seen, blocking, BUFFER_cudaMallocAsync, trio.count);
	buffer_make(&trio.source, blocking, BUFFER_cudaMallocAsync, trio.count);
	work_init(&trio.source, blocking);
	work_init(&trio.seen, blocking);
	context_await(context);
	for (unsigned round = 0; round < rounds; round++)
		(on_legacy ? by_free_on_legacy : by_free_on_blocking)(&trio, stream_legacy(context), blocking);
	buffer_free(&trio.seen, blocking);
	buffer_free(&trio.source, blocking);
}
