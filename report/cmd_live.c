/* gpushim-report live and snapshot: questions to a running process, through the page that it shares (report/live.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/command.h"
#include "report/live.h"

#define ANSWER_LIMIT_MS 10000 /* a process that makes no CUDA call for that long does not answer */

static int complain(const char *pid, const char *why)
{
	fprintf(stderr, "gpushim-report: process %s: %s\n", pid, why);
	return GSR_UNUSABLE;
}

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* What the process calls itself: in a container that is another number than the one by which it is asked. */
static uint32_t own_number(pid_t number)
{
	char path[64], line[256];
	uint32_t own = (uint32_t)number;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)number);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "NSpid:", strlen("NSpid:")) == 0 && strrchr(line, '\t') != NULL)
			own = (uint32_t)strtoul(strrchr(line, '\t'), NULL, 10);
	if (file != NULL)
		fclose(file);
	return own;
}

/* The process's memory file, opened; -1: why is said. */
static int page_file_open(const char *pid, pid_t number)
{
	static const char wanted[] = "/memfd:" GS_LIVE_NAME;
	char path[64], link[sizeof(wanted)];
	struct dirent *entry;
	int found = -1;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)number);
	folder = opendir(path);
	if (folder == NULL) {
		complain(pid, is_alive(number) ? "it belongs to somebody else" : "there is no such process");
		return -1;
	}
	while (found < 0 && (entry = readdir(folder)) != NULL) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		if (length == (ssize_t)sizeof(wanted) - 1 && memcmp(link, wanted, sizeof(wanted) - 1) == 0)
			found = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
	}
	closedir(folder);
	if (found < 0)
		complain(pid, "it does not run under gpushim, or has not used CUDA yet");
	return found;
}

/* The page of a process, or NULL: why is said. */
static struct gs_live_page *page_open(const char *pid)
{
	char *end;
	long number = strtol(pid, &end, 10);
	struct gs_live_page *page = MAP_FAILED;
	struct stat info;
	int fd;

	if (end == pid || *end != '\0' || number <= 0 || number > INT32_MAX) {
		fprintf(stderr, "gpushim-report: \"%s\" is no number of a process\n", pid);
		return NULL;
	}
	fd = page_file_open(pid, (pid_t)number);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(*page))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED || page->magic != GS_LIVE_MAGIC || page->version != GS_LIVE_VERSION) {
		complain(pid, "its page is not one that this version understands");
		return NULL;
	}
	if (page->pid != own_number((pid_t)number)) {
		complain(pid, "it is the child of a process under gpushim, and has not used CUDA itself");
		return NULL;
	}
	return page;
}

/* 0: the process has answered. */
static int page_ask(const char *pid, struct gs_live_page *page, uint32_t wanted)
{
	uint64_t answers = atomic_load(&page->answers);

	atomic_fetch_or(&page->wanted, wanted);
	atomic_store(&page->due_ticks, 0);
	for (int ms = 0; ms < ANSWER_LIMIT_MS; ms++) {
		if (atomic_load(&page->answers) != answers)
			return 0;
		if (!is_alive((pid_t)atol(pid)))
			return complain(pid, "it has ended");
		sleep_ms(1);
	}
	return complain(pid, "no answer: it has made no CUDA call for 10 s");
}

int gsr_snapshot(const char *pid, const struct gsr_options *options)
{
	struct gs_live_page *page = page_open(pid);
	char path[sizeof(page->snapshot_path) + 32] = "";
	int status, at = 0;

	if (page == NULL)
		return GSR_UNUSABLE;
	status = page_ask(pid, page, GS_LIVE_SNAPSHOT);
	if (status == 0 && page->snapshot_error != 0)
		status = complain(pid, "it could not write the snapshot; its own standard error says why");
	page->snapshot_path[sizeof(page->snapshot_path) - 1] = '\0';
	if (page->pid != (uint32_t)atol(pid)) /* in a container: its files, as they are seen from here */
		at = snprintf(path, sizeof(path), "/proc/%d/root", (int)atol(pid));
	strcpy(path + at, page->snapshot_path);
	if (status == 0)
		gsr_name_print("snapshot", path, options);
	munmap(page, sizeof(*page));
	return status;
}

static void figures_print_json(const struct gs_live_page *page)
{
	cJSON *object = cJSON_CreateObject(), *devices = cJSON_AddArrayToObject(object, "devices");

	cJSON_AddNumberToObject(object, "elapsed_ns", (double)page->elapsed_ns);
	cJSON_AddNumberToObject(object, "launches", (double)page->launches);
	cJSON_AddNumberToObject(object, "waits", (double)page->waits);
	cJSON_AddNumberToObject(object, "wait_ns", (double)page->wait_ns);
	for (uint32_t i = 0; i < page->device_count && i < GS_LIVE_DEVICES_MAX; i++) {
		cJSON *device = cJSON_CreateObject();

		cJSON_AddNumberToObject(device, "ordinal", page->devices[i].ordinal);
		cJSON_AddNumberToObject(device, "allocated_bytes", (double)page->devices[i].allocated_bytes);
		cJSON_AddNumberToObject(device, "reserved_bytes", (double)page->devices[i].reserved_bytes);
		cJSON_AddNumberToObject(device, "reserved_peak_bytes", (double)page->devices[i].reserved_peak_bytes);
		cJSON_AddNumberToObject(device, "idle_bytes", (double)page->devices[i].idle_bytes);
		cJSON_AddItemToArray(devices, device);
	}
	gsr_json_print(object);
}

/* Rates are those since the line before; since the start in the first one. */
static void figures_print(const struct gs_live_page *page, const struct gs_live_page *before)
{
	double seconds = (double)(page->elapsed_ns - before->elapsed_ns) / 1e9;
	char live[GSR_CELL_BYTES], held[GSR_CELL_BYTES], most[GSR_CELL_BYTES];

	if (seconds <= 0)
		seconds = 1;
	printf("%8.1f s", (double)page->elapsed_ns / 1e9);
	for (uint32_t i = 0; i < page->device_count && i < GS_LIVE_DEVICES_MAX; i++)
		printf("  device %d: live %s, held %s, at most %s", page->devices[i].ordinal,
		       gsr_bytes(live, page->devices[i].allocated_bytes),
		       gsr_bytes(held, page->devices[i].reserved_bytes),
		       gsr_bytes(most, page->devices[i].reserved_peak_bytes));
	printf("  %.0f launches/s, waiting %.1f %%\n", (double)(page->launches - before->launches) / seconds,
	       (double)(page->wait_ns - before->wait_ns) / 1e7 / seconds);
}

int gsr_live(const char *pid, const struct gsr_options *options)
{
	struct gs_live_page *page = page_open(pid), before = {0};
	int status = GSR_UNUSABLE;

	if (page == NULL)
		return status;
	for (unsigned line = 0; options->rows == 0 || line < options->rows; line++) {
		if (line > 0)
			sleep_ms(1000);
		status = line > 0 && !is_alive((pid_t)atol(pid)) ? GSR_FINE : page_ask(pid, page, GS_LIVE_FIGURES);
		if (status != 0 || !is_alive((pid_t)atol(pid)))
			break;
		if (options->json)
			figures_print_json(page);
		else
			figures_print(page, &before);
		fflush(stdout);
		memcpy(&before, page, sizeof(before));
	}
	munmap(page, sizeof(*page));
	return status;
}
