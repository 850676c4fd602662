/* The events of the process that never was: part of fake_snapshot.h, which says what there is. */
#ifndef TESTS_REPORT_FAKE_EVENTS_H
#define TESTS_REPORT_FAKE_EVENTS_H

static uint64_t fake_ring_begin(void)
{
	return fake.event_first;
}

static uint64_t fake_ring_end(void)
{
	return fake.event_first + fake.event_count;
}

static uint64_t fake_ring_added(uint64_t end)
{
	return end;
}

/* PyTorch: 12 tensors of 4 MiB (the first 7 from the layer, 5 from load), 2 of load freed, then 18 pairs. */
static void fake_torch_event(uint64_t index, struct gs_event *event)
{
	event->size_bytes = 4 * MIB;
	if (index < 12) {
		event->type = GS_EVENT_TENSOR_ALLOC;
		event->address = 0x7f1000000000 + index * 6 * MIB;
		event->stack = index < 7 ? 3 : 4;
	} else if (index < 14) {
		event->type = GS_EVENT_TENSOR_FREE;
		event->address = 0x7f1000000000 + (index - 2) * 6 * MIB;
		event->stack = 1;
	} else {
		event->type = index % 2 == 0 ? GS_EVENT_TENSOR_ALLOC : GS_EVENT_TENSOR_FREE;
		event->address = 0x7f1000000000 + 10 * 6 * MIB;
		event->stack = 5;
	}
}

static void fake_block_event(uint64_t index, struct gs_event *event)
{
	uint64_t pair = index / 2;

	event->type = index % 2 == 0 ? GS_EVENT_ALLOC : GS_EVENT_FREE;
	event->address = 0x7f1000000000 + pair % 40000 * 2 * MIB;
	event->size_bytes = 512 * (pair * 2654435761u % 100000 + 1);
	event->stream = pair % 3;
	event->stack = 6 + (uint32_t)(pair % 2);
}

static int fake_ring_read(uint64_t index, struct gs_event *ret)
{
	if (index == fake.event_first + 5 && fake.scene == FAKE_BIG)
		return GS_E_NOT_FOUND;
	if (fake.runs)
		index ^= 31;
	memset(ret, 0, sizeof(*ret));
	ret->time_ns = FAKE_START_NS + index * 3100 + index * 7919 % 2900;
	ret->thread = 4711;
	if (fake.scene == FAKE_TORCH)
		fake_torch_event(index, ret);
	else
		fake_block_event(index, ret);
	return 0;
}

#endif
