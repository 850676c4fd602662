/* Stream captures: see capture.h. Inside one nothing may wait, ask or order by our own means: what is captured is put
 * in order by the graph, and what runs beside it uses memory of its own. */
#include "tests/soak/capture.h"

#include "tests/preload/shadow.h"
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"
#include "tests/soak/work.h"

enum { BODY_MAX = 6 };

struct body {
	struct buffer_access accesses[BODY_MAX];
	unsigned count;
};

static void body_mix(struct body *body, struct buffer *dst, struct buffer *src, int stream)
{
	uint64_t count = dst->count < src->count ? dst->count : src->count;

	if (body->count == BODY_MAX)
		return;
	body->accesses[body->count++] = (struct buffer_access){dst, src};
	kernel_mix(dst->words, src->words, count < 4096 ? count : 4096, draw(1u << 31), streams[stream].handle);
}

/* To another stream and back; what that one touches, nobody touches meanwhile. */
static void fork_and_join(struct body *body, int stream, int other)
{
	struct buffer *mine = buffer_pick(streams[stream].context), *its = buffer_pick(streams[stream].context);
	cudaEvent_t fork, join;

	if (mine == its)
		return;
	NEED_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	NEED_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	NEED_OK(cudaEventRecord(fork, streams[stream].handle));
	NEED_OK(cudaStreamWaitEvent(streams[other].handle, fork, 0));
	body_mix(body, its, its, other);
	body_mix(body, mine, mine, stream);
	NEED_OK(cudaEventRecord(join, streams[other].handle));
	NEED_OK(cudaStreamWaitEvent(streams[stream].handle, join, 0));
	NEED_OK(cudaEventDestroy(fork));
	NEED_OK(cudaEventDestroy(join));
}

static void graph_memory(struct body *body, int stream)
{
	struct buffer *dst = buffer_pick(streams[stream].context);
	uint64_t count = dst->count < 4096 ? dst->count : 4096;
	uint32_t *words;

	if (body->count == BODY_MAX)
		return;
	NEED_OK(cudaMallocAsync((void **)&words, count * 4, streams[stream].handle));
	kernel_fill(words, count, draw(1u << 31), streams[stream].handle);
	kernel_mix(dst->words, words, count, draw(1u << 31), streams[stream].handle);
	NEED_OK(cudaFreeAsync(words, streams[stream].handle));
	body->accesses[body->count++] = (struct buffer_access){dst, NULL};
}

/* On a stream that takes no part. */
static void work_beside(int other)
{
	cudaStream_t handle = streams[other].handle;
	uint64_t count = buffer_draw_count();
	uint32_t salt = draw(1u << 31), *words = NULL;

	if (!say_allocated("cudaMallocAsync beside", count * 4, (int)cudaMallocAsync((void **)&words, count * 4, handle))) {
		work_digest_fill(NULL, count, salt, other);
		return;
	}
	shadow_owner(words, count * 4, handle);
	stream_submit(other);
	work_digest_fill(words, count, salt, other);
	shadow_end(words);
	stream_submit(other);
	NEED_OK(cudaFreeAsync(words, handle));
}

/* A call that a global capture forbids, and that breaks it. */
static void forbidden(int stream)
{
	void *memory;

	switch (draw(3)) {
	case 0:
		SAY_CODE(cudaMalloc(&memory, 4096));
		break;
	case 1:
		SAY_CODE(cudaStreamSynchronize(streams[stream].handle));
		break;
	default:
		SAY_CODE(cudaDeviceSynchronize());
	}
}

static void graph_use(cudaGraph_t graph, const struct body *body, int stream)
{
	unsigned launches = 1 + draw(3);
	cudaGraphExec_t executable;
	cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);

	if (error == cudaErrorNotSupported) {
		cudaGetLastError();
		return;
	}
	need((int)error, "cudaGraphInstantiate");
	for (unsigned i = 0; i < launches; i++) {
		buffer_use_all(stream, body->accesses, body->count);
		NEED_OK(cudaGraphLaunch(executable, streams[stream].handle));
	}
	NEED_OK(cudaGraphExecDestroy(executable));
	say("launched %u times", launches);
}

void capture_one(int stream)
{
	enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)draw(3);
	int other = stream_pick(streams[stream].context), beside = stream_pick(streams[stream].context);
	struct buffer *first = buffer_pick(streams[stream].context);
	struct body body = {.count = 0};
	cudaGraph_t graph = NULL;
	bool broken = draw(8) == 0 && mode == cudaStreamCaptureModeGlobal;
	cudaError_t error;

	if (first == NULL || streams[stream].kind == STREAM_LEGACY)
		return;
	NEED_OK(cudaStreamBeginCapture(streams[stream].handle, mode));
	body_mix(&body, first, buffer_pick(streams[stream].context), stream);
	if (draw(2) == 0 && other != stream && streams[other].kind >= STREAM_BLOCKING)
		fork_and_join(&body, stream, other);
	if (draw(3) == 0)
		graph_memory(&body, stream);
	if (draw(2) == 0 && beside != stream && beside != other && streams[beside].kind >= STREAM_BLOCKING)
		work_beside(beside);
	if (broken)
		forbidden(stream);
	error = cudaStreamEndCapture(streams[stream].handle, &graph);
	say("capture in mode %d: %d, last error %d", mode, error, cudaGetLastError());
	if (error != cudaSuccess)
		return;
	graph_use(graph, &body, stream);
	NEED_OK(cudaGraphDestroy(graph));
}
