/* Loops of launches, as programs have them: see work.h. */
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"
#include "tests/soak/work.h"

enum { PIECES = 12, WORDS = 64 };

struct piece {
	struct buffer *dst, *src;
	uint64_t to, from, count; /* words */
	uint32_t salt;
	int stream;
};

static struct piece piece_draw(int stream)
{
	struct piece piece = {
		.dst = buffer_pick(streams[stream].context), .src = buffer_pick(streams[stream].context), .stream = stream};
	uint64_t most = piece.dst->count < piece.src->count ? piece.dst->count : piece.src->count;

	piece.count = 1 + draw((uint32_t)(most < WORDS ? most : WORDS));
	piece.to = draw((uint32_t)(piece.dst->count - piece.count + 1));
	piece.from = piece.dst == piece.src ? piece.to : draw((uint32_t)(piece.src->count - piece.count + 1));
	piece.salt = draw(1u << 31);
	return piece;
}

static void piece_run(const struct piece *piece, uint32_t salt)
{
	buffer_use(piece->stream, piece->dst, piece->dst != piece->src ? piece->src : NULL);
	kernel_mix(piece->dst->words + piece->to, piece->src->words + piece->from, piece->count, piece->salt ^ salt,
		   streams[piece->stream].handle);
}

/* Something between two launches of the loop. */
static void interrupt(int stream)
{
	switch (way(3)) {
	case 0:
		stream_await(stream);
		break;
	case 1:
		stream_poll(stream);
		break;
	default:
		work_delay(stream);
	}
}

void work_loop(int stream)
{
	int other = stream_pick(streams[stream].context);
	uint32_t length = 1 + draw(PIECES), times = 2 + draw(100), changes = draw(3), waits = way(3), odd = 1 + way(400);
	struct piece pieces[PIECES];

	if (buffer_pick(streams[stream].context) == NULL)
		return;
	/* What another thread would have to do stays there. */
	if (other < 0 || streams[other].thread >= 0 || draw(3) != 0)
		other = stream;
	for (uint32_t i = 0; i < length; i++)
		pieces[i] = piece_draw(draw(4) == 0 ? other : stream);
	say("a loop of %u launches, %u times", length, times);
	for (uint32_t time = 0; time < times; time++) {
		for (uint32_t i = 0; i < length; i++) {
			piece_run(&pieces[i], changes == 0 ? 0 : changes == 1 ? time % 2 : time);
			if (way_once_in(odd))
				interrupt(stream);
		}
		if (waits == 0)
			stream_await(stream);
	}
}
