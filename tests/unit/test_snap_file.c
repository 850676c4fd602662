/* shim/snap: whole snapshots of a process that never was. Also the writer of the files that tests/report reads:
 * test_snap_file --write PATH blocks|torch|big|error EVENTS FIRST */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "shim/base/os.h"
#include "shim/snap/file.h"
#include "tests/report/fake_snapshot.h"

static char buffer[GS_SNAPSHOT_BUFFER_BYTES];
static struct gs_snapshot_process process;
static char folder[64];

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static int folder_make(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/gpushim-snap-XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static int write_to(const char *path)
{
	return gs_snapshot_file_write(path, "exit", &process, &fake_source, buffer);
}

static cJSON *read_json(const char *path)
{
	FILE *file = fopen(path, "r");
	struct stat stat;
	cJSON *parsed;
	char *text;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &stat), 0);
	text = malloc((size_t)stat.st_size + 1);
	assert_int_equal(fread(text, 1, (size_t)stat.st_size, file), stat.st_size);
	text[stat.st_size] = '\0';
	fclose(file);
	parsed = cJSON_Parse(text);
	assert_non_null(parsed);
	free(text);
	return parsed;
}

static cJSON *at(const cJSON *object, const char *key)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_non_null(item);
	return item;
}

static double number(const cJSON *json, const char *table, const char *column, int row)
{
	cJSON *item = cJSON_GetArrayItem(at(at(json, table), column), row);

	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

static const char *text(const cJSON *json, const char *table, const char *column, int row)
{
	const char *value = cJSON_GetStringValue(cJSON_GetArrayItem(at(at(json, table), column), row));

	assert_non_null(value);
	return value;
}

static void content_is_what_the_process_said(void **state)
{
	cJSON *json;
	struct stat stat_;

	(void)state;
	fake_init(FAKE_TORCH, 20, 0);
	fake.conf.snapshot_every_s = 5;
	assert_int_equal(write_to(in_folder("a.json")), 0);
	assert_int_equal(stat(in_folder("a.json"), &stat_), 0);
	assert_int_equal(stat_.st_mode & 0777, 0600);
	assert_int_equal(access(in_folder("a.json.part"), F_OK), -1);
	json = read_json(in_folder("a.json"));
	assert_string_equal(json->child->string, "schema");
	assert_int_equal(at(json, "schema")->valueint, 1);
	assert_int_equal(at(at(json, "meta"), "pid")->valueint, 4711);
	assert_int_equal(at(at(json, "meta"), "rank")->valueint, 3);
	assert_string_equal(at(at(json, "meta"), "start_wall_ns")->valuestring, "1800000000000000000");
	assert_int_equal(cJSON_GetArraySize(at(at(json, "meta"), "command")), 3);
	assert_string_equal(at(at(at(json, "meta"), "settings"), "snapshot")->valuestring, "exit+oom+error+every=5");
	assert_string_equal(at(at(at(json, "meta"), "settings"), "stacks")->valuestring, "python+native");
	assert_string_equal(at(at(at(json, "meta"), "settings"), "backend")->valuestring, "vmm");
	assert_int_equal(cJSON_GetArraySize(at(json, "devices")), 2);
	assert_int_equal(cJSON_GetArraySize(at(json, "functions")), 3);
	assert_int_equal(cJSON_GetArraySize(at(json, "threads")), 2);
	assert_int_equal(cJSON_GetArraySize(at(json, "live_totals")), 2);
	assert_int_equal(cJSON_GetArraySize(at(at(json, "segments"), "address")), 2);
	assert_int_equal(cJSON_GetArraySize(at(at(json, "blocks"), "address")), 5);
	assert_string_equal(text(json, "blocks", "address", 1), "7f1004000000");
	assert_int_equal(number(json, "blocks", "segment", 4), 1);
	assert_int_equal(number(json, "blocks", "state", 2), 1);
	assert_int_equal(number(json, "blocks", "time_ns", 0), 1000);
	assert_int_equal(cJSON_GetArraySize(at(at(json, "live"), "address")), 11);
	assert_int_equal(cJSON_GetArraySize(at(at(json, "events"), "address")), 20);
	assert_string_equal(text(json, "events", "type_names", (int)number(json, "events", "type", 12)), "tensor_free");
	assert_string_equal(cJSON_GetArrayItem(at(json, "strings"), S_WEIRD)->valuestring,
			    "quote\" back\\slash tab\t bell\a \xc3\xa9 bad\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end");
	cJSON_Delete(json);
}

static void times_are_deltas(void **state)
{
	cJSON *json;
	double time_ns = 0;

	(void)state;
	fake_init(FAKE_BLOCKS, 1000, 7);
	assert_int_equal(write_to(in_folder("t.json")), 0);
	json = read_json(in_folder("t.json"));
	for (int row = 0; row < 1000; row++) {
		struct gs_event event;

		time_ns += number(json, "events", "time_delta_ns", row);
		fake_ring_read((uint64_t)row + 7, &event);
		assert_int_equal(time_ns, event.time_ns - FAKE_START_NS);
	}
	assert_int_equal(at(at(json, "recording"), "events_added")->valueint, 1007);
	assert_int_equal(at(at(json, "recording"), "events_dropped")->valueint, 7);
	cJSON_Delete(json);
}

static void events_are_in_the_order_of_their_times(void **state)
{
	double time_ns = 0;
	cJSON *json;

	(void)state;
	fake_init(FAKE_BLOCKS, 1024, 32);
	fake.runs = true;
	assert_int_equal(write_to(in_folder("r.json")), 0);
	fake.runs = false;
	json = read_json(in_folder("r.json"));
	for (int row = 0; row < 1024; row++) {
		struct gs_event event;

		time_ns += number(json, "events", "time_delta_ns", row);
		fake_ring_read((uint64_t)row + 32, &event);
		assert_int_equal(time_ns, event.time_ns - FAKE_START_NS);
		assert_int_equal(number(json, "events", "size_bytes", row), event.size_bytes);
	}
	cJSON_Delete(json);
}

static void blocks_that_appear_during_the_walk_are_kept(void **state)
{
	cJSON *json;

	(void)state;
	fake_init(FAKE_BLOCKS, 0, 0);
	fake.grow_walks = 4;
	assert_int_equal(write_to(in_folder("g.json")), 0);
	json = read_json(in_folder("g.json"));
	assert_true(cJSON_GetArraySize(at(at(json, "blocks"), "address")) > 5 + 100);
	cJSON_Delete(json);
}

static void a_million_events_are_small(void **state)
{
	struct stat stat_;
	uint64_t start_ns, end_ns;

	(void)state;
	fake_init(FAKE_BIG, 1000000, 0);
	start_ns = gsb_os_now_ns();
	assert_int_equal(write_to(in_folder("big.json")), 0);
	end_ns = gsb_os_now_ns();
	assert_int_equal(stat(in_folder("big.json"), &stat_), 0);
	printf("# 1,000,000 events: %.1f MB, %.2f s\n", (double)stat_.st_size / 1e6, (double)(end_ns - start_ns) / 1e9);
	assert_true(stat_.st_size <= 65000000);
	assert_int_equal(unlink(in_folder("big.json")), 0);
}

/* Runs write_to with stderr in a file; returns what was said. */
static const char *said(const char *path, int expected)
{
	static char words[1024];
	int saved = dup(STDERR_FILENO), fd = open(in_folder("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	ssize_t length;

	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	errno = 77;
	assert_int_equal(write_to(path), expected);
	assert_int_equal(errno, 77);
	dup2(saved, STDERR_FILENO);
	length = pread(fd, words, sizeof(words) - 1, 0);
	words[length] = '\0';
	close(saved);
	close(fd);
	return words;
}

static void unwritable_folders_are_one_line(void **state)
{
	char expected[512];

	(void)state;
	fake_init(FAKE_BLOCKS, 10, 0);
	snprintf(expected, sizeof(expected), "gpushim: no snapshot %s: no such folder\n", in_folder("none/a.json"));
	assert_string_equal(said(in_folder("none/a.json"), GS_E_IO), expected);
	assert_int_equal(write_to(in_folder("file")), 0);
	snprintf(expected, sizeof(expected), "gpushim: no snapshot %s: not a folder\n", in_folder("file/a.json"));
	assert_string_equal(said(in_folder("file/a.json"), GS_E_IO), expected);
	assert_string_equal(said(in_folder("file"), 0), "");
}

static void a_size_limit_neither_kills_nor_tears(void **state)
{
	struct rlimit limit, before;
	char expected[512];
	cJSON *json;

	(void)state;
	fake_init(FAKE_BLOCKS, 10, 0);
	assert_int_equal(write_to(in_folder("l.json")), 0);
	fake_init(FAKE_BLOCKS, 10000, 0);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &limit);
	snprintf(expected, sizeof(expected), "gpushim: no snapshot %s: file size limit reached\n", in_folder("l.json"));
	assert_string_equal(said(in_folder("l.json"), GS_E_IO), expected);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(access(in_folder("l.json.part"), F_OK), -1);
	json = read_json(in_folder("l.json"));
	assert_int_equal(cJSON_GetArraySize(at(at(json, "events"), "address")), 10);
	cJSON_Delete(json);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	char expected[512];
	const char *disk = in_folder("disk"), *path = in_folder("disk/a.json");

	(void)state;
	mkdir(disk, 0700);
	if (mount("none", disk, "tmpfs", 0, "size=256k") != 0)
		skip();
	fake_init(FAKE_BLOCKS, 10, 0);
	assert_int_equal(write_to(path), 0);
	fake_init(FAKE_BLOCKS, 10000, 0);
	snprintf(expected, sizeof(expected), "gpushim: no snapshot %s: no space left\n", path);
	assert_string_equal(said(path, GS_E_IO), expected);
	cJSON_Delete(read_json(path));
	assert_int_equal(umount(disk), 0);
}

static void leftovers_are_replaced_and_links_not_followed(void **state)
{
	struct stat stat_;

	(void)state;
	fake_init(FAKE_BLOCKS, 10, 0);
	assert_int_equal(symlink("victim", in_folder("s.json.part")), 0);
	assert_int_equal(write_to(in_folder("s.json")), 0);
	assert_int_equal(access(in_folder("victim"), F_OK), -1);
	assert_int_equal(lstat(in_folder("s.json"), &stat_), 0);
	assert_true(S_ISREG(stat_.st_mode));
}

static int write_scene(char **argument)
{
	static const char *const scenes[] = {"blocks", "torch", "big", "error"};

	for (unsigned scene = 0; scene < 4; scene++)
		if (strcmp(argument[1], scenes[scene]) == 0) {
			fake_init((enum fake_scene)scene, strtoull(argument[2], NULL, 10),
				  strtoull(argument[3], NULL, 10));
			return write_to(argument[0]) != 0;
		}
	return 2;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(content_is_what_the_process_said),
	    cmocka_unit_test(times_are_deltas),
	    cmocka_unit_test(events_are_in_the_order_of_their_times),
	    cmocka_unit_test(blocks_that_appear_during_the_walk_are_kept),
	    cmocka_unit_test(a_million_events_are_small),
	    cmocka_unit_test(unwritable_folders_are_one_line),
	    cmocka_unit_test(a_size_limit_neither_kills_nor_tears),
	    cmocka_unit_test(a_full_disk_leaves_the_old_file),
	    cmocka_unit_test(leftovers_are_replaced_and_links_not_followed),
	};

	if (argc == 6 && strcmp(argv[1], "--write") == 0)
		return write_scene(argv + 2);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
