/* The engine of a fuzz target where there is no libFuzzer: TARGET SECONDS SEED KEPT FILE...
 *
 * Runs every file through the target, then mutations of them, for that many seconds, or for COUNT mutations where
 * SECONDS is "xCOUNT". The input at work is always in the file KEPT, so it is there after a crash; one seed and one set
 * of files give one sequence of inputs. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "tests/fuzz/target.h"

enum { INPUTS_MAX = 512, INPUT_BYTES_MAX = 1 << 18 };

static struct input {
	uint8_t *bytes;
	size_t length;
} inputs[INPUTS_MAX];
static size_t input_count;

static uint64_t random_state;
static uint8_t *work; /* shared mapping of KEPT: its first bytes are the input */

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static size_t below(size_t limit)
{
	return limit > 0 ? random_next() % limit : 0;
}

static void input_read(const char *path)
{
	FILE *file = fopen(path, "r");
	struct input *input = &inputs[input_count];

	if (file == NULL || input_count == INPUTS_MAX) {
		fprintf(stderr, "%s: %s\n", path, file == NULL ? strerror(errno) : "too many inputs");
		exit(2);
	}
	input->bytes = malloc(INPUT_BYTES_MAX);
	HOLDS(input->bytes != NULL);
	input->length = fread(input->bytes, 1, INPUT_BYTES_MAX, file);
	fclose(file);
	input_count++;
}

/* Replaces `removed` bytes at a place by others. */
static size_t splice(size_t length, size_t at, size_t removed, const void *bytes, size_t added)
{
	if (length - removed + added > INPUT_BYTES_MAX)
		return length;
	memmove(work + at + added, work + at + removed, length - at - removed);
	memmove(work + at, bytes, added);
	return length - removed + added;
}

/* The number at or after a place becomes another one. */
static size_t change_number(size_t length, size_t at)
{
	static const char *const numbers[] = {"0",
					      "1",
					      "-1",
					      "2",
					      "255",
					      "256",
					      "65536",
					      "2147483647",
					      "2147483648",
					      "4294967295",
					      "4294967296",
					      "9007199254740992",
					      "9007199254740993",
					      "18446744073709551615",
					      "18446744073709551616",
					      "1e999",
					      "0.5"};
	const char *number = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t end;

	while (at < length && (work[at] < '0' || work[at] > '9'))
		at++;
	for (end = at; end < length && work[end] >= '0' && work[end] <= '9';)
		end++;
	return splice(length, at, end - at, number, strlen(number));
}

static size_t mutate_once(size_t length)
{
	static const char tokens[] = ":,|+=#[]{}\"\\\n\t \0\xff\x80\xed\xa0/.-";
	const struct input *other = &inputs[below(input_count)];
	size_t at = below(length + 1), span = below(1 + below(64)), from = below(other->length + 1);
	uint8_t copy[64];

	if (span > length - at)
		span = length - at;
	switch (below(8)) {
	case 0:
		if (at < length)
			work[at] ^= (uint8_t)(1u << below(8));
		return length;
	case 1:
		return splice(length, at, 0, &tokens[below(sizeof(tokens) - 1)], 1);
	case 2:
		return splice(length, at, at < length, &tokens[below(sizeof(tokens) - 1)], at < length);
	case 3:
		return splice(length, at, span, "", 0);
	case 4:
		memcpy(copy, work + at, span);
		return splice(length, below(length + 1), 0, copy, span);
	case 5:
		return splice(length, at, below(2) * span, other->bytes + from,
			      below(other->length - from < 256 ? other->length - from + 1 : 256));
	case 6:
		return below(8) == 0 ? at : length;
	default:
		return change_number(length, at);
	}
}

static void run(size_t length)
{
	uint8_t *exact = malloc(length > 0 ? length : 1);

	HOLDS(exact != NULL);
	memcpy(exact, work, length);
	work[length] = '\0';
	memcpy(work + INPUT_BYTES_MAX + 8, &length, sizeof(length));
	LLVMFuzzerTestOneInput(exact, length);
	free(exact);
}

static void kept_open(const char *path)
{
	FILE *file = fopen(path, "w+");

	HOLDS(file != NULL && ftruncate(fileno(file), INPUT_BYTES_MAX + 4096) == 0);
	work = mmap(NULL, INPUT_BYTES_MAX + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	HOLDS(work != MAP_FAILED);
	fclose(file);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	unsigned long limit, count = 0;
	bool counted;
	double end;

	if (argc < 5) {
		fprintf(stderr, "usage: %s SECONDS|xCOUNT SEED KEPT FILE...\n", argv[0]);
		return 2;
	}
	counted = argv[1][0] == 'x';
	limit = strtoul(argv[1] + counted, NULL, 10);
	random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	kept_open(argv[3]);
	for (int i = 4; i < argc; i++)
		input_read(argv[i]);
	for (size_t i = 0; i < input_count; i++) {
		memcpy(work, inputs[i].bytes, inputs[i].length);
		run(inputs[i].length);
	}
	end = now_s() + (double)limit;
	for (; counted ? count < limit : now_s() < end; count++) {
		const struct input *input = &inputs[below(input_count)];
		size_t length = input->length;

		memcpy(work, input->bytes, length);
		for (size_t changes = 1 + below(6); changes > 0; changes--)
			length = mutate_once(length);
		run(length);
	}
	printf("%zu inputs, %lu mutations, seed %s\n", input_count, count, argv[2]);
	return 0;
}
