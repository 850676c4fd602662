/* The snapshot, schema 1: every key of it, once. The only thing that the writer (shim/snap) and the report share.
 *
 * A snapshot is one JSON object whose first key is "schema". Its sections are plain objects, lists of objects, and
 * *tables*: objects that hold one array per column, all of the same length. report/schema.md explains each key to
 * people, report/schema.json to programs; a test holds the three together.
 *
 * Integers that may exceed 2^53 and all addresses are strings: decimal where the key ends in _ns or _count, otherwise
 * hexadecimal without 0x. Sizes are bytes. Times within tables are nanoseconds after meta.monotonic_base_ns. */
#ifndef GS_REPORT_SCHEMA_H
#define GS_REPORT_SCHEMA_H

#define GS_SNAP_VERSION 1

/* Kinds of column. NAME: index into the list "<key>_names" in the same table. STRING, FRAME, MODULE, STACK, SEGMENT, LOOP:
 * row of that section; row 0 of strings, frames, modules and stacks means "none". */
enum gs_snap_kind {
	GS_SNAP_COUNT,	/* integer from 0 to 2^53 */
	GS_SNAP_SIGNED, /* integer, may be negative */
	GS_SNAP_HEX,	/* string of hexadecimal digits */
	GS_SNAP_NAME,
	GS_SNAP_STRING,
	GS_SNAP_FRAME,
	GS_SNAP_MODULE,
	GS_SNAP_STACK,
	GS_SNAP_SEGMENT,
	GS_SNAP_LOOP
};

/* --- tables: X(table, key, kind, meaning) ------------------------------------------------------------------------ */

#define GS_SNAP_COLUMNS_segments(X)                                                                                    \
	X(segments, device, COUNT, "ordinal")                                                                          \
	X(segments, kind, NAME, "how its memory was made")                                                             \
	X(segments, address, HEX, "first address")                                                                     \
	X(segments, size_bytes, COUNT, "bytes with memory behind them")

#define GS_SNAP_COLUMNS_blocks(X)                                                                                      \
	X(blocks, segment, SEGMENT, "the segment it lies in")                                                          \
	X(blocks, address, HEX, "first address")                                                                       \
	X(blocks, size_bytes, COUNT, "as asked for; of the last allocation when the block is free")                    \
	X(blocks, reserved_bytes, COUNT, "as rounded")                                                                 \
	X(blocks, state, NAME, "live, pending or idle")                                                                \
	X(blocks, origin, NAME, "kind of call that asked for it")                                                      \
	X(blocks, stream, COUNT, "stream id of the allocation; 0 = none")                                              \
	X(blocks, pool, HEX, "memory pool handle; 0 = none")                                                           \
	X(blocks, owner, HEX, "context")                                                                               \
	X(blocks, stack, STACK, "where it was allocated")                                                              \
	X(blocks, thread, COUNT, "kernel thread id")                                                                   \
	X(blocks, time_ns, SIGNED, "of the allocation; -1: it is not known, as with history:0")                         \
	X(blocks, serial, COUNT, "number of the allocation, never reused")

#define GS_SNAP_COLUMNS_live(X)                                                                                        \
	X(live, class, NAME, "what it is")                                                                             \
	X(live, device, COUNT, "ordinal; 255 = host")                                                                  \
	X(live, address, HEX, "first address, or the handle")                                                          \
	X(live, size_bytes, COUNT, "size")                                                                             \
	X(live, stack, STACK, "where it was allocated")                                                                \
	X(live, thread, COUNT, "kernel thread id")                                                                     \
	X(live, time_ns, SIGNED, "of the allocation")                                                                  \
	X(live, owner, HEX, "context; 0 = none")

#define GS_SNAP_COLUMNS_events(X)                                                                                      \
	X(events, type, NAME, "what happened")                                                                         \
	X(events, time_delta_ns, SIGNED, "after the previous event; the first one after the base")                     \
	X(events, device, COUNT, "ordinal; 255 = host")                                                                \
	X(events, address, HEX, "0 where there is none")                                                               \
	X(events, size_bytes, COUNT, "as asked for")                                                                   \
	X(events, stream, COUNT, "stream id; 0 = none or unknown")                                                     \
	X(events, stack, STACK, "where")                                                                               \
	X(events, thread, COUNT, "kernel thread id")

#define GS_SNAP_COLUMNS_waits(X)											\
	X(waits, function, STRING, "driver function")									\
	X(waits, class, NAME, "class column of the table of functions")							\
	X(waits, stack, STACK, "where; 0 = calls too short to have waited, or that the cache answered, and what found no room")			\
	X(waits, way, NAME, "which way it copied")									\
	X(waits, memory, NAME, "host memory that it copied from or to")							\
	X(waits, calls, COUNT, "calls; for polls, waits by polling")											\
	X(waits, apart, COUNT, "calls with a launch since the one before at this place: of the same thread, if it launches anything")		\
	X(waits, first_launch, COUNT, "launches that there had been at the first call, roughly")			\
	X(waits, last_launch, COUNT, "likewise, at the last call")							\
	X(waits, host_ns, COUNT, "host time inside")									\
	X(waits, longest_ns, COUNT, "longest one")									\
	X(waits, size_bytes, COUNT, "bytes copied")									\
	X(waits, clear, COUNT, "calls before which nothing was left to wait for, as far as the host knew")		\
	X(waits, clear_ns, COUNT, "host time of these")									\
	X(waits, clear_bytes, COUNT, "bytes that these copied")								\
	X(waits, drained, COUNT, "calls that left the device without anything to do, as far as this process knows")	\
	X(waits, idle_ns, COUNT, "from the end of these until the host submitted something")				\
	X(waits, timed, COUNT, "calls after which the thread asked for the time between two events")			\
	X(waits, late, COUNT, "calls since the launches that there had been doubled, once or twice")			\
	X(waits, followed, COUNT, "calls that waited for an event behind which its stream had been given more work")

#define GS_SNAP_COLUMNS_crossings(X)                                                                                   \
	X(crossings, kind, NAME, "how they met")                                                                       \
	X(crossings, stack, STACK, "where: what came later")                                                           \
	X(crossings, name, STRING, "kernel or function of that")                                                       \
	X(crossings, other_stack, STACK, "where: what was submitted before")                                           \
	X(crossings, other_name, STRING, "kernel or function of that")                                                 \
	X(crossings, calls, COUNT, "how often")                                                                        \
	X(crossings, stream, COUNT, "stream id of what came later, the first time; 0 = none")                          \
	X(crossings, other_stream, COUNT, "of what was submitted before")                                              \
	X(crossings, address, HEX, "of the memory, the first time; 0 where it is not about memory")                    \
	X(crossings, size_bytes, COUNT, "of that memory")

#define GS_SNAP_COLUMNS_launches(X)                                                                                    \
	X(launches, kind, NAME, "kernel, graph, copy or set")                                                          \
	X(launches, state, NAME, "open, done, captured or refused")                                                    \
	X(launches, name, STRING, "the kernel as its module names it; otherwise the function that was called")         \
	X(launches, stream, COUNT, "stream id; 0 = none or unknown")                                                   \
	X(launches, stack, STACK, "where; the outer frames may be of an earlier launch")                               \
	X(launches, thread, COUNT, "kernel thread id")                                                                 \
	X(launches, time_ns, SIGNED, "when the call had returned")

#define GS_SNAP_COLUMNS_kernels(X)											\
	X(kernels, kind, NAME, "kernel, graph, copy or set")								\
	X(kernels, name, STRING, "as in launches")									\
	X(kernels, stack, STACK, "where; the outer frames may be of the first launch there")				\
	X(kernels, calls, COUNT, "how often")										\
	X(kernels, host_ns, COUNT, "host time inside the calls")							\
	X(kernels, long_calls, COUNT, "calls so long that they waited: the queue was full, or code was loaded")		\
	X(kernels, long_ns, COUNT, "host time of these")						\
	X(kernels, samples, COUNT, "calls whose time on the device was measured")			\
	X(kernels, sampled_ns, COUNT, "that time, of all of them")

#define GS_SNAP_COLUMNS_steps(X)											\
	X(steps, loop, LOOP, "whose round it is")			\
	X(steps, number, COUNT, "within its loop, from 1")			\
	X(steps, time_ns, SIGNED, "when it began")			\
	X(steps, wall_ns, COUNT, "how long it took")			\
	X(steps, launches, COUNT, "kernels and graphs launched")			\
	X(steps, launch_ns, COUNT, "host time inside these launches")			\
	X(steps, device_ns, COUNT, "what they take on devices, by samples of the same kernels; no sample: nothing")			\
	X(steps, queue_ns, COUNT, "host time in launches and asynchronous copies that took long: the queue of the device was full, or code was loaded")			\
	X(steps, waits, COUNT, "calls that wait, and copies that the host waits for")			\
	X(steps, wait_ns, COUNT, "host time inside these")			\
	X(steps, idle_ns, COUNT, "from waits that left a device nothing to do until the host gave it something")		\
	X(steps, memory_calls, COUNT, "calls for memory that took long")			\
	X(steps, memory_ns, COUNT, "host time inside these")			\
	X(steps, loads, COUNT, "calls that loaded code and took long")			\
	X(steps, load_ns, COUNT, "host time inside these")			\
	X(steps, to_device_bytes, COUNT, "copied to the device")			\
	X(steps, to_host_bytes, COUNT, "copied to the host")

#define GS_SNAP_COLUMNS_loops(X)											\
	X(loops, kind, NAME, "how it was found")			\
	X(loops, name, STRING, "the kernel that begins a step; 0 = the program says when")			\
	X(loops, stack, STACK, "where it is launched, or the program says so")			\
	X(loops, thread, COUNT, "kernel thread id that leads")			\
	X(loops, steps, COUNT, "steps that ended")			\
	X(loops, wall_ns, COUNT, "time that they took")			\
	X(loops, median_ns, COUNT, "of a step, within 3 %")			\
	X(loops, p99_ns, COUNT, "99 of 100 steps took no longer, within 3 %")			\
	X(loops, longest_ns, COUNT, "longest step")			\
	X(loops, launches, COUNT, "kernels and graphs launched")			\
	X(loops, launch_ns, COUNT, "host time inside these launches")			\
	X(loops, device_ns, COUNT, "what they take on devices, by samples of the same kernels; no sample: nothing")			\
	X(loops, queue_ns, COUNT, "host time in launches and asynchronous copies that took long: the queue of the device was full, or code was loaded")			\
	X(loops, waits, COUNT, "calls that wait, and copies that the host waits for")			\
	X(loops, wait_ns, COUNT, "host time inside these")			\
	X(loops, idle_ns, COUNT, "from waits that left a device nothing to do until the host gave it something")		\
	X(loops, memory_calls, COUNT, "calls for memory that took long")			\
	X(loops, memory_ns, COUNT, "host time inside these")			\
	X(loops, loads, COUNT, "calls that loaded code and took long")			\
	X(loops, load_ns, COUNT, "host time inside these")			\
	X(loops, to_device_bytes, COUNT, "copied to the device")			\
	X(loops, to_host_bytes, COUNT, "copied to the host")

#define GS_SNAP_COLUMNS_stacks(X)                                                                                      \
	X(stacks, parent, STACK, "the caller's stack; always a smaller number")                                        \
	X(stacks, frame, FRAME, "innermost frame")

#define GS_SNAP_COLUMNS_frames(X)                                                                                      \
	X(frames, kind, NAME, "none, python or native")                                                                \
	X(frames, function, STRING, "name; 0 for native frames, unless the report named them: solve+0x1c")                                                       \
	X(frames, file, STRING, "source file; 0 for native frames")                                                    \
	X(frames, line, COUNT, "source line; 0 = unknown")                                                             \
	X(frames, module, MODULE, "of native frames")                                                                  \
	X(frames, offset, HEX, "return address minus the module's base; native frames")

#define GS_SNAP_COLUMNS_modules(X)                                                                                     \
	X(modules, path, STRING, "file")                                                                               \
	X(modules, build_id, STRING, "hexadecimal; 0 = none")                                                          \
	X(modules, base, HEX, "load bias")                                                                             \
	X(modules, start, HEX, "first address of its loaded parts")                                                    \
	X(modules, end, HEX, "first address after them")

/* In the order of the file: rows may refer only to what is written later, so that a table never points at something
 * that came into being after it was written. */
#define GS_SNAP_TABLES(X)                                                                                              \
	X(segments) X(blocks) X(live) X(events) X(launches) X(waits) X(kernels) X(steps) X(loops) X(crossings) \
	X(stacks) X(frames) X(modules)

/* Types of the keys of objects. DECIMAL: string of decimal digits; LIST: list of texts. */
enum gs_snap_type {
	GS_SNAP_TYPE_TEXT,
	GS_SNAP_TYPE_COUNT,
	GS_SNAP_TYPE_COUNT_OR_NULL,
	GS_SNAP_TYPE_COUNT_LATER, /* the first files of this schema do not have it */
	GS_SNAP_TYPE_DECIMAL,
	GS_SNAP_TYPE_LIST,
	GS_SNAP_TYPE_OBJECT,
	GS_SNAP_TYPE_OBJECT_OR_NULL
};

/* --- objects: X(object, key, type, meaning) ---------------------------------------------------------------------- */

#define GS_SNAP_KEYS_meta(X)                                                                                           \
	X(meta, reason, TEXT, "exit, oom, error, signal, time, request, peak or killed")                                               \
	X(meta, version, TEXT, "of gpushim")                                                                           \
	X(meta, pid, COUNT, "process")                                                                                 \
	X(meta, ppid, COUNT, "its parent")                                                                             \
	X(meta, rank, COUNT_OR_NULL, "from RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID or PMI_RANK; null = none")         \
	X(meta, hostname, TEXT, "machine")                                                                             \
	X(meta, executable, TEXT, "path")                                                                              \
	X(meta, command, LIST, "command line, one text per argument")                                                  \
	X(meta, folder, TEXT, "working folder at the start")                                                           \
	X(meta, start_wall_ns, DECIMAL, "when gpushim started, since 1970")                                            \
	X(meta, dump_wall_ns, DECIMAL, "when this was written, since 1970")                                            \
	X(meta, monotonic_base_ns, DECIMAL, "CLOCK_MONOTONIC at the start: zero of the times in tables")               \
	X(meta, elapsed_ns, COUNT, "from the start to the writing of this file")                                       \
	X(meta, conf, TEXT, "GPUSHIM_ALLOC_CONF as given; empty unless paths:full")                                                             \
	X(meta, settings, OBJECT, "each setting in force, by its name")

#define GS_SNAP_KEYS_recording(X)                                                                                      \
	X(recording, python, TEXT, "reader of Python stacks")                                                          \
	X(recording, native, TEXT, "reader of native stacks")                                                          \
	X(recording, stack_captures, COUNT, "stacks taken")                                                            \
	X(recording, native_walks, COUNT, "of these, with a native unwind")                                            \
	X(recording, stacks_cut, COUNT, "stacks cut because a table was full")                                         \
	X(recording, live_dropped, COUNT, "addresses not kept for lack of memory")                                     \
	X(recording, events_added, COUNT, "events since the start")                                                    \
	X(recording, events_dropped, COUNT, "of these, not in this file: older than the history is long")

#define GS_SNAP_KEYS_devices(X)                                                                                        \
	X(devices, ordinal, COUNT, "as the process numbers them")                                                      \
	X(devices, uuid, TEXT, "GPU-...: key of the device between processes")                                         \
	X(devices, name, TEXT, "product")                                                                              \
	X(devices, total_bytes, COUNT, "memory of the device")                                                         \
	X(devices, others_bytes, COUNT_LATER, "used beyond what this process was served: by other processes, contexts, code")  \
	X(devices, others_time_ns, COUNT_LATER, "when that was seen last; 0 = never")                                  \
	X(devices, gauges, OBJECT_OR_NULL, "figures of the allocator, each with now and peak; null = unused")          \
	X(devices, counters, OBJECT_OR_NULL, "counts of the allocator; null = unused")

#define GS_SNAP_KEYS_live_totals(X)                                                                                    \
	X(live_totals, class, TEXT, "as in live")                                                                      \
	X(live_totals, device, COUNT, "ordinal; 255 = host")                                                           \
	X(live_totals, bytes, COUNT, "now")                                                                            \
	X(live_totals, peak_bytes, COUNT, "highest")                                                                   \
	X(live_totals, count, COUNT, "now")                                                                            \
	X(live_totals, peak_count, COUNT, "highest")                                                                   \
	X(live_totals, total_count, COUNT, "since the start")

#define GS_SNAP_KEYS_functions(X)                                                                                      \
	X(functions, name, TEXT, "exported symbol; only functions that were called")                                   \
	X(functions, layer, TEXT, "driver or runtime")                                                                 \
	X(functions, class, TEXT, "class column of the table of functions")                                            \
	X(functions, calls, COUNT, "calls")                                                                            \
	X(functions, host_ns, COUNT, "host time inside; 0 when not timed")

#define GS_SNAP_KEYS_threads(X)                                                                                        \
	X(threads, tid, COUNT, "kernel thread id")                                                                     \
	X(threads, name, TEXT, "name; only threads alive at the writing")

#define GS_SNAP_KEYS_errors(X)                                                                                         \
	X(errors, code, COUNT, "CUresult")                                                                             \
	X(errors, name, TEXT, "of the code")                                                                           \
	X(errors, function, TEXT, "whose call returned it first")                                                      \
	X(errors, stack, COUNT, "row of stacks: where that call was made")                                             \
	X(errors, thread, COUNT, "kernel thread id of that call")                                                      \
	X(errors, time_ns, COUNT, "of that call")                                                                      \
	X(errors, launches_lost, COUNT, "launches that may be to blame and are no longer in the log")

#define GS_SNAP_KEYS_submit(X)                                                                                         \
	X(submit, kind, TEXT, "put_off, at_once, flush or flushes")                                                    \
	X(submit, name, TEXT, "kind of work, reason, function, or all")                                                \
	X(submit, text, TEXT, "the name in words; empty where it needs none")                                          \
	X(submit, count, COUNT, "how often")                                                                           \
	X(submit, host_ns, COUNT, "host time that waiting took; 0 where nothing waits")

#define GS_SNAP_KEYS_graph(X)                                                                                          \
	X(graph, kind, TEXT, "figure, plain or fall")                                                                  \
	X(graph, name, TEXT, "of the figure, or the reason")                                                           \
	X(graph, text, TEXT, "the name in words")                                                                      \
	X(graph, count, COUNT, "the figure, or how often")

/* Sections that are not tables: X(section, is a list of such objects). Beside them, schema is an integer and strings a
 * list of texts. */
#define GS_SNAP_OBJECTS(X)                                                                                             \
	X(meta, false) X(recording, false) X(devices, true) X(live_totals, true) X(functions, true) X(threads, true) \
	X(errors, true) X(submit, true) X(graph, true)

/* Sections that the first files of schema 1 do not have; a reader takes them as empty there. */
#define GS_SNAP_LATER_SECTIONS "errors", "submit", "graph", "launches", "waits", "kernels", "steps", "loops", "crossings"

/* Likewise columns, which read as 0 there. */
#define GS_SNAP_LATER_COLUMNS                                                                                          \
	"waits.clear", "waits.clear_ns", "waits.clear_bytes", "waits.drained", "waits.idle_ns", "waits.timed", "waits.late", "waits.followed", \
	"kernels.samples", "kernels.sampled_ns", "steps.device_ns", "steps.idle_ns", "loops.device_ns", "loops.idle_ns"

/* A place that the program came to less often, with launches in between, is no part of a loop: for waits. */
#define GS_SNAP_LOOP_CALLS 5

/* --- what follows from the lists --------------------------------------------------------------------------------- */

/* GS_SNAP_blocks_stack and so on; GS_SNAP_blocks_COLUMNS is the number of columns. */
#define GS_SNAP_COLUMN_ENUM(table, key, kind, text) GS_SNAP_##table##_##key,
#define GS_SNAP_TABLE_ENUM(table)                                                                                      \
	enum gs_snap_##table{GS_SNAP_COLUMNS_##table(GS_SNAP_COLUMN_ENUM) GS_SNAP_##table##_COLUMNS};
GS_SNAP_TABLES(GS_SNAP_TABLE_ENUM)

struct gs_snap_column {
	const char *key;
	enum gs_snap_kind kind;
};
#define GS_SNAP_COLUMN_ROW(table, key, kind, text) {#key, GS_SNAP_##kind},

enum gs_snap_table {
#define GS_SNAP_TABLE_ID(table) GS_SNAP_TABLE_##table,
	GS_SNAP_TABLES(GS_SNAP_TABLE_ID)
#undef GS_SNAP_TABLE_ID
	    GS_SNAP_TABLE_COUNT
};

#define GS_SNAP_MAX_COLUMNS 24

struct gs_snap_key {
	const char *key;
	enum gs_snap_type type;
};
#define GS_SNAP_KEY_ROW(object, key, type, text) {#key, GS_SNAP_TYPE_##type},

/* GS_KEY(meta, pid) is "pid", and does not compile where the lists have no such key. */
#define GS_SNAP_OBJECT_ENUM_ROW(object, key, type, text) GS_SNAP_KEY_##object##_##key,
#define GS_SNAP_OBJECT_ENUM(object, is_list) enum gs_snap_key_##object{GS_SNAP_KEYS_##object(GS_SNAP_OBJECT_ENUM_ROW)};
GS_SNAP_OBJECTS(GS_SNAP_OBJECT_ENUM)
#define GS_KEY(object, key) ((void)GS_SNAP_KEY_##object##_##key, #key)

#endif
