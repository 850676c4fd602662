/* See transfer.h. An asynchronous copy of pinned memory takes the host no time that says how fast it was: those are counted
 * only. */
#include "report/transfer.h"

#include <string.h>

#include "report/text.h"

#define WAYS 2u
#define MEMORIES 3u

/* A copy smaller than this is mostly the call. */
#define FAST_BYTES (1u << 20)

static const char *const ways[WAYS] = {"to_device", "to_host"};
static const char *const memories[MEMORIES] = {"pageable", "pinned", "managed"};

struct transfer {
	uint64_t calls, bytes, host_ns;
	uint64_t known_bytes, known_ns; /* of waiting copies with nothing before them */
};

static bool returns_when_done(const struct gsr_model *model, size_t row)
{
	const char *call_class = GSR_NAME(model, waits, class, row);

	return strcmp(call_class, "copy") == 0 ||
	       (strcmp(call_class, "copy_async") == 0 && strcmp(GSR_NAME(model, waits, way, row), "to_host") == 0 &&
		strcmp(GSR_NAME(model, waits, memory, row), "pageable") == 0);
}

static void transfer_sum(const struct gsr_model *model, unsigned way, unsigned memory, struct transfer *ret_transfer)
{
	*ret_transfer = (struct transfer){0};
	for (size_t row = 0; row < GSR_ROWS(model, waits); row++) {
		uint64_t bytes = GSR_CELL(model, waits, size_bytes, row);
		uint64_t clear = GSR_CELL(model, waits, clear, row), clear_bytes = GSR_CELL(model, waits, clear_bytes, row);

		if (bytes == 0 || strcmp(GSR_NAME(model, waits, way, row), ways[way]) != 0 ||
		    strcmp(GSR_NAME(model, waits, memory, row), memories[memory]) != 0)
			continue;
		ret_transfer->calls += GSR_CELL(model, waits, calls, row);
		ret_transfer->bytes += bytes;
		ret_transfer->host_ns += GSR_CELL(model, waits, host_ns, row);
		if (!returns_when_done(model, row) || clear == 0 || clear_bytes / clear < FAST_BYTES)
			continue;
		ret_transfer->known_bytes += clear_bytes;
		ret_transfer->known_ns += GSR_CELL(model, waits, clear_ns, row);
	}
}

static double rate_of(const struct transfer *transfer)
{
	return transfer->known_ns > 0 ? (double)transfer->known_bytes / (double)transfer->known_ns : 0;
}

void gsr_transfers_print(const struct gsr_model *model)
{
	bool said = false;

	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned memory = 0; memory < MEMORIES; memory++) {
			char bytes[GSR_CELL_BYTES], count[GSR_CELL_BYTES], time[GSR_CELL_BYTES], known[GSR_CELL_BYTES];
			struct transfer transfer;

			transfer_sum(model, way, memory, &transfer);
			if (transfer.calls == 0)
				continue;
			if (!said) {
				gsr_line("%s", "");
				gsr_line("copies between host and device:");
			}
			said = true;
			gsr_line("%10s  %s, %s host memory: %s copies, %s of host time",
				 gsr_bytes(bytes, transfer.bytes), way == 0 ? "to the device" : "to the host",
				 memories[memory], gsr_number(count, transfer.calls), gsr_duration(time, transfer.host_ns));
			if (transfer.known_ns > 0)
				gsr_line("            %.2f GB/s in %s of them, which the host waited for and nothing else",
					 rate_of(&transfer), gsr_bytes(known, transfer.known_bytes));
		}
}

cJSON *gsr_transfers_json(const struct gsr_model *model)
{
	cJSON *list = cJSON_CreateArray();

	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned memory = 0; memory < MEMORIES; memory++) {
			struct transfer transfer;
			cJSON *object;

			transfer_sum(model, way, memory, &transfer);
			if (transfer.calls == 0)
				continue;
			object = cJSON_CreateObject();
			cJSON_AddStringToObject(object, "way", ways[way]);
			cJSON_AddStringToObject(object, "memory", memories[memory]);
			cJSON_AddNumberToObject(object, "calls", (double)transfer.calls);
			cJSON_AddNumberToObject(object, "size_bytes", (double)transfer.bytes);
			cJSON_AddNumberToObject(object, "host_ns", (double)transfer.host_ns);
			cJSON_AddNumberToObject(object, "known_bytes", (double)transfer.known_bytes);
			cJSON_AddNumberToObject(object, "known_ns", (double)transfer.known_ns);
			cJSON_AddItemToArray(list, object);
		}
	return list;
}
