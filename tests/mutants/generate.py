"""The generated mutants: one rule for each kind, applied wherever it fits.

    hook:SYMBOL          a HOOK row of shim/api/driver.def is PASS
    copy:SYMBOL          a COPY row is PASS: what is copied is not noted
    quick:SYMBOL         a QUICK row of shim/api/runtime.def is PASS
    class:COLUMN:CLASS   a property that a class of calls has (shim/api/class.h) is missing
    conf:KEY             a setting is read and ignored
    drop:FILE:..         a call that keeps order (ORDERING) is dropped; of a lock, its acquire and release in a function
    key:FILE:..          one comparison of a field by which things are matched (FIELDS) is left out

All of them are compiled into one library: each place asks whether the environment names its number. So there is one
build, which without a number is its own control, and then only checks to run. What is not caught must be in
equivalent.txt, with the reason."""
import concurrent.futures
import fnmatch
import glob
import os
import re
import threading
import time

from checks import Checks, OutOfTime, seed_of
from row import EQUIVALENT, UNFINISHED, Row
from tree import TOP, Tree

ORDERING = (r"gs_order_\w+|gsa_fences?_\w+|gsa_tags?_\w+|gsa_stream_\w+|gsa_device_idle|gsa_owner_gone|"
            r"gsa_trim|gsa_wait|gs_stream_ends|event_\w+|fence_\w+|stream_ending|all_idle|"
            r"await_zero|record\w*|gs_context_\w+|context_gone|"
            r"gs_ipc_context_gone|gs_device_add_peer|gsa_plain_forget|gs_driver\.cu\w+|"
            r"gs_(?:proven|launch|wait|note|live|ring|kernel|kept|quick|submit|attribute|known|params|causal|hazard|serial|"
            r"sample|step|graph|put|make|import)_\w+|gsg_\w+|publish|wake|advance|wait_for_room|relax|make|await|"
            r"copy_values|fill_params|take_\w+|let_go|learn|consider|make_next|make_trace|follow|hold|fall|complete|"
            r"settle_others|end_trace|note_\w+|replayed|gsa_lend_\w+|gsa_chunk_\w+|chunk_\w+|loans_back|book|supply|swallow|splice|"
            r"free_again|count|gauge_drift|gsa_aside_\w+|empty_list|events_sort|pass_by|judge_\w+")
FIELDS = (r"id|stream_id|owner|pool|context|context_id|handle|device|segment|tag|state|stream|address|serial|"
          r"kind|nonce|stream_ends|context_changes|magic|free_serial|cover|uuid|pid|"
          r"stack|fn|way|memory|name|event|before")
ROOMS = ["allocator/*.c", "shim/core/*.c", "shim/wrap/*.c", "shim/ipc/*.c", "shim/watch/*.c", "shim/stack/*.c",
         "shim/torch/*.c", "shim/submit/*.c", "graph/*.c"]
LEFT_OUT = ["allocator/check.c", "allocator/lend_check.c", "shim/core/conf.c", "shim/core/counter.c"]
MUTANT_C = """#include "shim/base/mutant.h"
#include <stdlib.h>
int gsb_mutant;
__attribute__((constructor(101))) static void mutant_read(void)
{
	const char *text = getenv("GSB_MUTANT");
	gsb_mutant = text != NULL ? atoi(text) : 0;
}
"""

UNITS = {
    "allocator": ["allocator_tags", "allocator_order", "allocator_memory", "allocator_faults", "allocator_model",
                  "allocator_bins", "allocator_starts", "allocator_addr_map", "allocator_threads", "allocator_share",
                  "allocator_stitch", "allocator_stitch_again", "allocator_purge", "allocator_pinned", "allocator_lanes",
                  "allocator_lane_figures", "allocator_loans", "allocator_cross", "allocator_aside"],
    "shim/core": ["core_order", "core_stream", "wrap_context", "core_conf", "watch_live"],
    "shim/wrap": ["wrap_context"],
    "shim/watch": ["watch_live", "watch_ring", "watch_ring_runs", "watch_rows", "watch_wait", "watch_finder", "watch_step", "watch_proven", "watch_sticky",
                   "watch_hazard"],
    "shim/submit": ["graph_queue", "submit_event", "submit_graph"],
    "graph": ["graph_queue", "graph_cache", "graph_detect", "graph_replay", "graph_trace"],
    "shim/stack": ["stack_intern", "stack_address"],
}
# What must not differ where launches are put off.
PUT_OFF = ["submit %s late" % case for case in ("memory", "streams", "turns", "legacy", "capture", "callbacks", "threads", "params",
                                                "attribute", "devices", "exits", "forks", "refused")] + ["owed flushes"]
WORKS = ["work %s late" % case for case in ("copies", "sets", "turns", "events", "answers", "captured_event", "refused",
                                           "memory", "threads", "devices", "ends", "exits", "shared_events", "per_thread")]
REPLAYS = ["replay %s late" % case for case in ("constant", "changing", "ping_pong", "packed", "kernels", "refused", "unload",
                                                "contexts", "streams", "attribute", "attributes", "capture", "forks",
                                                "exits", "two_streams", "legacy", "memory", "full")]
GRAPHS = ["graphs " + row for row in ("unload", "unload_library", "context", "attribute", "attribute_of_kernel", "function", "lack",
                                      "lack_elsewhere", "stream_attribute", "stream_attribute_ptsz", "stream_copy",
                                      "stream_copy_ptsz", "stream_priority", "stream_policy")]
# What is likeliest to see a mutant of a file, or of a hook whose name begins so.
NEAR = {
    "": [],
    "allocator/chunk.c": ["unit allocator_lanes", "unit allocator_lane_figures"],
    "allocator/lane.c": ["unit allocator_lanes", "unit allocator_lane_figures", "unit allocator_cross"],
    "allocator/lend": ["unit allocator_lanes", "unit allocator_lane_figures", "unit allocator_loans", "unit allocator_cross"],
    "allocator/pinned.c": ["unit allocator_pinned"],
    "allocator/pinned_book.c": ["unit allocator_pinned"],
    "allocator/purge.c": ["unit allocator_purge"],
    "allocator/share.c": ["unit allocator_share"],
    "allocator/stats.c": ["unit allocator_tags", "unit allocator_lane_figures", "script preload/pool"],
    "allocator/stitch.c": ["unit allocator_stitch"],
    "shim/core/fences.c": ["owed own fence", "owed own fence-of-all", "script preload/undisturbed", "script preload/memory",
                           "rule drv_default_stream_memory", "program drv_context_again", "program drv_context_again unseen"],
    "shim/core/device_ops.c": ["owed own unmap expandable_segments:False",
                               "owed own release expandable_segments:False", "owed own plain backend:cudamalloc",
                               "script preload/undisturbed", "program drv_context_again", "program drv_context_again unseen"],
    "shim/core/host.c": ["script preload/undisturbed", "script preload/pinned"],
    "shim/core/purge.c": ["script preload/purge"],
    "shim/wrap/door.c": ["owed own table"],
    "shim/wrap/query.c": ["alone drv_asked " + way for way in ("id", "together", "set")],
    "shim/wrap/launch.c": ["owed flushes", "owed forgets", "owed reused", "owed extended", "work turns late", "work events late",
                           "work ends late", "graphs unload", "graphs unload_library", "labelled rt_hazard_external",
                           "labelled rt_hazard_shared_event", "script preload/sticky", "script preload/waits"],
    "shim/wrap/memory.c": ["owed memory backend:off", "script preload/kinds", "script preload/events"],
    "shim/wrap/pool.c": ["script preload/pool"],
    "shim/wrap/stream.c": ["policy random rt_hazard stream-destroyed-then-freed", "graphs stream_attribute",
                           "graphs stream_copy", "script preload/events"],
    "shim/wrap/capture.c": ["script preload/events"],
    "shim/wrap/quick.c": ["script preload/quick"],
    "shim/wrap/host.c": ["script preload/pinned"],
    "shim/watch/kept.c": ["script preload/kill"],
    "shim/watch/live.c": ["unit watch_live"],
    "shim/watch/live_top.c": ["unit watch_live_top", "script preload/limits"],
    "shim/core/params.c": ["owed reused", "submit attribute late", "submit memory late", "script preload/submit"],
    "shim/watch/step.c": ["unit watch_step", "script preload/steps"],
    "shim/watch/sticky.c": ["unit watch_sticky", "script preload/sticky"],
    "shim/watch/place.c": ["unit watch_sticky"],
    "shim/watch/proven.c": ["unit watch_proven", "script preload/sticky", "script preload/waits"],
    "shim/watch/causal.c": ["unit watch_hazard", "script labelled/labelled"],
    "shim/watch/hazard.c": ["unit watch_hazard", "script labelled/labelled"],
    "shim/watch/serial.c": ["unit watch_hazard", "script labelled/labelled"],
    "shim/watch/crossing.c": ["unit watch_hazard"],
    "shim/watch/sample.c": ["unit watch_sample", "script preload/samples"],
    "shim/watch/wait.c": ["unit watch_rows", "script preload/waits", "script preload/kinds"],
    "shim/watch/kernel.c": ["unit watch_rows", "script preload/sticky"],
    "shim/watch/note.c": ["labelled rt_hazard_grown", "script preload/kinds", "script preload/events"],
    "shim/watch/": ["script preload/sticky", "script preload/waits"],
    "shim/torch": ["script preload/torch"],
    "shim/submit": PUT_OFF + ["owed forgets", "owed reused", "owed same"],
    "shim/submit/work.c": WORKS,
    "shim/submit/event.c": ["unit submit_event"] + WORKS,
    "shim/submit/graph.c": ["unit submit_graph"] + GRAPHS + REPLAYS,
    "shim/submit/submit.c": PUT_OFF + ["owed forgets", "owed reused", "owed same"] + WORKS + GRAPHS + REPLAYS,
    "graph": ["unit graph_" + unit for unit in ("queue", "cache", "detect", "replay", "trace")] + PUT_OFF,
    "flushes": ["owed flushes"] + PUT_OFF,
    "forgets": ["owed forgets"] + PUT_OFF,
    "tells": ["script preload/classes"] + PUT_OFF,
    "cuMemcpy": ["script preload/kinds"],
    "cudaMalloc": ["script preload/quick"],
    "cudaFree": ["script preload/quick"],
    "cuLaunch": ["script preload/sticky", "script preload/waits"],
    "cuGraphLaunch": ["script preload/sticky", "script preload/waits"],
    "cuModule": ["script preload/sticky"],
    "cuLibrary": ["script preload/sticky"],
    "cuEvent": ["script preload/sticky", "script preload/waits"],
    "cuStreamSetAttribute": ["graphs stream_attribute", "graphs stream_attribute_ptsz"],
    "cuStreamCopyAttributes": ["graphs stream_copy", "graphs stream_copy_ptsz"],
    "cuStreamQuery": ["script preload/sticky", "script preload/waits"],
    "cuStreamWaitEvent": ["script preload/sticky", "script preload/waits"],
    "cuPointer": ["program drv_pointer"],
    "cuMem": ["program drv_pointer"],
    "cuMemHost": ["script preload/pinned"],
    "cuMemPool": ["script preload/pool"],
    "cuDeviceSetMemPool": ["script preload/pool"],
    "cuIpc": ["script preload/ipc"],
}
MIXES = ["alone drv_classes to-host", "script preload/ways", "script preload/undisturbed", "contexts",
         "program rt_hazard give-back", "program rt_hazard stream-destroyed", "program rt_hazard copy-then-free",
         "program rt_hazard reset", "script preload/kinds",
         "mix late 1", "mix random 2", "mix starve 3", "mix late 4 backend:cudamalloc"]
RACES = ["race unit allocator_cross", "race unit allocator_threads", "race unit watch_live", "race unit submit_event",
         "race drv_races", "race drv_races snapshot:kill", "race rt_ends storm", "race rt_ends storm snapshot:kill",
         "race rt_capture_threads storm", "race rt_storm fork", "race rt_ipc both"]
SHORT_SCRIPTS = ["script preload/kinds", "script preload/classes", "script preload/ways",
                 "script preload/undisturbed"]
SCRIPTS = {
    "allocator": ["preload/memory", "preload/capture", "fault/fault_sweep"],
    "shim/core": ["preload/memory", "preload/capture", "preload/ends", "preload/settings", "fault/fault_sweep"],
    "shim/wrap": ["preload/memory", "preload/capture", "preload/ipc", "preload/kinds", "preload/events",
                  "preload/limits", "fault/fault_sweep"],
    "shim/ipc": ["preload/ipc", "preload/memory"],
    "shim/watch": ["preload/waits", "preload/sticky", "preload/steps", "preload/kinds", "preload/events",
                   "preload/kill", "preload/torch", "preload/limits", "preload/samples", "labelled/labelled",
                   "preload/memory"],
    "shim/submit": ["preload/submit", "preload/submit_work", "preload/replay", "preload/classes", "preload/ends"],
    "graph": ["preload/submit", "preload/replay", "preload/graph", "preload/ends"],
    "shim/stack": ["stack/stack_native", "stack/stack_unwind", "stack/stack_fake_python", "preload/events"],
    "shim/torch": ["preload/torch", "sim/torch_sim"],
    "copy": ["preload/kinds"],
    "quick": ["preload/quick"],
    "hook": ["preload/memory", "preload/capture", "preload/ipc", "preload/lookup", "preload/procaddr"],
    "class": ["preload/classes", "preload/memory", "preload/tools", "preload/submit"],
    "conf": ["preload/settings", "preload/sticky", "preload/memory"],
}


def rules():
    own = re.findall(r"drv_\w+", " ".join(re.findall(r"(?m)^\t(drv_.*)\)", read("tests/preload/test_rules.sh"))))
    names = [os.path.basename(path)[:-2] for path in sorted(glob.glob(TOP + "/tests/conformance/*.c"))]
    return ["rule " + name for name in names if name not in own]


def ladder(name):
    """Cheapest first, and first what is likeliest to see it."""
    kind, *rest = name.split(":")
    room = os.path.dirname(rest[0]) if kind in ("drop", "key") else kind
    near = NEAR[max((start for start in NEAR if rest[0].startswith(start)), key=len, default="")]
    units = near + ["unit " + unit for unit in UNITS.get(room, []) if "unit " + unit not in near]
    scripts = ["script " + script for script in SCRIPTS.get(room, [])]
    if kind == "class":
        modes = [] if near else ["alone drv_classes " + mode for mode in ("takes", "to-host", "submits")]
        return list(dict.fromkeys(near + modes + scripts))
    if kind == "conf":
        return ["unit core_conf_rows", "unit core_conf"] + scripts
    if room == "allocator":
        return units + MIXES + ["torch"] + scripts
    if room == "shim/ipc":
        return ["script preload/undisturbed"] + scripts
    if room in ("shim/watch", "shim/stack", "shim/torch", "shim/submit", "graph", "copy", "quick"):
        return list(dict.fromkeys(units + scripts))
    return list(dict.fromkeys(units + MIXES + ["torch"] + rules() + scripts))


def races(name):
    """Of a lock: programs under ThreadSanitizer, which say that it is missing whether that did harm or not."""
    return RACES if name.startswith("drop:") and ":lock " in name else []


def is_long(check):
    """Made last, and left out by --quick."""
    return check.startswith("race ") or check in ("torch", "mix starve 3", "unit allocator_faults") or (
        check.startswith("script ") and check not in SHORT_SCRIPTS + sum(NEAR.values(), []))


class Source:
    """A file being rewritten, and the mutants that it got."""

    def __init__(self, path, first):
        with open(os.path.join(TOP, path)) as file:
            self.lines = file.read().split("\n")
        self.path, self.first, self.mutants = path, first, []

    def number(self, name):
        """A number for a new mutant, whose name is made unique."""
        same = [other for other in self.mutants if re.sub("#[0-9]+$", "", other) == name]
        self.mutants.append(name + ("#%d" % (len(same) + 1) if same else ""))
        return self.first + len(self.mutants) - 1

    def functions(self):
        """(name, first line, line after the last) of each function."""
        name, start = "", None
        for at, line in enumerate(self.lines):
            match = re.match(r"[A-Za-z].*?\b(?!__attribute__)(\w+)\(", line)
            if match:
                name = match.group(1)
            if line == "{":
                start = at
            if line == "}" and start is not None:
                yield name, start, at
                start = None

    def statement_end(self, start):
        """The line on which the call statement that starts here ends; None if it is something else."""
        depth = 0
        for at in range(start, min(start + 8, len(self.lines))):
            for column, char in enumerate(self.lines[at]):
                depth += {"(": 1, ")": -1}.get(char, 0)
                if depth == 0 and char == ")":
                    return at if self.lines[at][column + 1:].strip() == ";" else None
        return None

    def starts_statement(self, at):
        before = at - 1
        while before > 0 and (self.lines[before].strip() == "" or self.lines[before].lstrip().startswith(("/*", "*"))):
            before -= 1
        return re.search(r"([;{}):]|else|do)\s*$", self.lines[before]) is not None

    def wrap(self, start, end, number):
        self.lines[start] = re.sub(r"^(\t+)", r"\1do { if (gsb_mutant != %d) " % number, self.lines[start], 1)
        self.lines[end] += " } while (0);"

    def drop_calls(self):
        for function, first, last in self.functions():
            locks = {}
            for at in range(first, last):
                match = re.match(r"\t+(gsb_lock_acquire|gsb_lock_release|%s)\(" % ORDERING, self.lines[at])
                end = self.statement_end(at) if match and self.starts_statement(at) else None
                if end is None:
                    continue
                call = re.sub(r"\s+", " ", "".join(self.lines[at:end + 1]).strip())
                if not match.group(1).startswith("gsb_lock_"):
                    self.wrap(at, end, self.number("drop:%s:%s:%s" % (self.path, function, call)))
                    continue
                lock = call[call.index("(") + 1:call.rindex(")")]
                if lock not in locks:
                    locks[lock] = self.number("drop:%s:%s:lock %s" % (self.path, function, lock))
                self.wrap(at, end, locks[lock])

    def drop_keys(self):
        index = r"(?:\[[^\[\]]*\])?"
        member = r"\w+%s(?:(?:->|\.)\w+%s)*(?:->|\.)(?:%s)" % (index, index, FIELDS)
        start = r"(?<![\w.>\])])"
        other = r"\w+%s(?:(?:->|\.)\w+%s)*" % (index, index)
        pattern = re.compile(start + r"(%s) (==|!=) (%s)(?![\w(\[])" % (member, other))
        reverse = re.compile(start + r"(\w+) (==|!=) (%s)(?![\w(>.-])" % member)
        for function, first, last in self.functions():
            for at in range(first, last):
                line = self.lines[at]
                if "assert" in line or line.lstrip().startswith(("*", "/*", "case")):
                    continue

                def change(match):
                    if match.group(3) in ("NULL", "0", "GS_OK", "CUDA_SUCCESS") or match.group(1) in ("NULL", "0"):
                        return match.group(0)
                    number = self.number("key:%s:%s:%s" % (self.path, function, match.group(0)))
                    if match.group(2) == "==":
                        return "(gsb_mutant == %d || %s)" % (number, match.group(0))
                    return "(gsb_mutant != %d && %s)" % (number, match.group(0))

                changed = pattern.sub(change, line)
                self.lines[at] = reverse.sub(change, line) if changed == line else changed

    def text(self):
        return "\n".join(['#include "shim/base/mutant.h"'] + self.lines)


def read(path):
    with open(os.path.join(TOP, path)) as file:
        return file.read()


def table_symbols():
    """Each function of the table in the order of enum gs_fn, and its disposition."""
    for line in read("shim/api/driver.def").splitlines():
        match = re.match(r"(DRV|DRV_TWIN)\((\w+), \w+, \w+, (\w*),.*, (PASS|COPY|SET|HOOK), (\w+)\)$", line)
        if line.startswith("DRV") and not match:
            raise ValueError("generate.py cannot read this row: %s" % line)
        if match:
            yield match.group(2), match.group(4)
            if match.group(1) == "DRV_TWIN":
                yield match.group(2) + match.group(3), match.group(4)


def changed(text, old, new):
    """Every `old` is `new`, and there is one."""
    if old not in text:
        raise ValueError("generate.py changes what is not there any more: %s" % old)
    return text.replace(old, new)


def entry_mutants(numbers):
    """shim/api/entry_driver.c with the kinds hook, copy and class."""
    text = read("shim/api/entry_driver.c")
    for index, (symbol, disposition) in enumerate(table_symbols()):
        if disposition not in ("PASS", "SET"):
            numbers["%s:%s" % (disposition.lower(), symbol)] = 1000 + index
    text = changed(text, "gs_on_##handler(call, real GS_AFTER_COMMA arguments)",
                   "(gsb_mutant == 1000 + (int)(call)->fn ? (real arguments) "
                   ": gs_on_##handler(call, real GS_AFTER_COMMA arguments))")
    text = changed(text, "if (call->start_ticks != 0)",
                   "if (call->start_ticks != 0 && gsb_mutant != 1000 + (int)call->fn)")
    header = read("shim/api/class.h")
    columns = re.search(r"/\*  X\(name, key, ([\w, ]+)\)", header).group(1).split(", ")
    rows = re.findall(r'\tX\((\w+), "\w+", ([01, ]+)\)', header)
    for base, column in enumerate(columns):
        base, has = 2000 + 100 * base, "GS_%s_##call_class" % column.upper()
        text = changed(text, has, "(%s && gsb_mutant != %d + (int)GS_CLASS_##call_class)" % (has, base))
        for index, (name, values) in enumerate(rows):
            if values.split(", ")[columns.index(column)] == "1":
                numbers["class:%s:%s" % (column, name)] = base + index
    return '#include "shim/base/mutant.h"\n' + text


def runtime_mutants(numbers):
    """shim/api/entry_runtime.c with the kind quick, numbered by the kinds of quick calls."""
    enum = re.search(r"enum gs_quick_kind \{.*?\}", read("shim/api/quick.h"), re.S).group(0)
    kinds = re.findall(r"\bGS_QUICK_(\w+)", enum)
    for index, symbol in enumerate(kinds):
        numbers["quick:" + symbol] = 2900 + index
    return '#include "shim/base/mutant.h"\n' + changed(
        read("shim/api/entry_runtime.c"), "AT_DOOR_QUICK(symbol, caller, arguments) ",
        "AT_DOOR_QUICK(symbol, caller, arguments) gsb_mutant != 2900 + (int)GS_QUICK_##symbol && ")


def lookup_mutants():
    """shim/api/lookup.c: what the class of functions that the table does not list has."""
    text = read("shim/api/lookup.c")
    for column, name in ((2, "TO_HOST"), (4, "FLUSHES")):
        text = changed(text, "if (GS_%s_UNLISTED)" % name,
                       "if (GS_%s_UNLISTED && gsb_mutant != %d + (int)GS_CLASS_UNLISTED)" % (name, 2000 + 100 * column))
    return '#include "shim/base/mutant.h"\n' + text


def conf_mutants(numbers):
    keys = re.findall(r"(?m)^GS_CONF_\w+\((\w+),", read("shim/core/conf.def"))
    text = read("shim/core/conf.c")
    match = re.search(r"static bool row_set\([^{]*\)\n\{\n", text)
    head = match.group(0) if match else "row_set()"
    for index, key in enumerate(keys):
        numbers["conf:" + key] = 3000 + index
    text = changed(text, head, head + "\tif (gsb_mutant == 3000 + (int)(row - conf_rows))\n\t\treturn true;\n")
    return '#include "shim/base/mutant.h"\n' + text


def mutants():
    """The rewritten files by path, and the numbers of the mutants by name."""
    numbers, files = {}, {}
    files["shim/api/entry_driver.c"] = entry_mutants(numbers)
    files["shim/api/entry_runtime.c"] = runtime_mutants(numbers)
    files["shim/api/lookup.c"] = lookup_mutants()
    files["shim/core/conf.c"] = conf_mutants(numbers)
    first = 4000
    for pattern in ROOMS:
        for path in sorted(glob.glob(os.path.join(TOP, pattern))):
            path = os.path.relpath(path, TOP)
            if path in LEFT_OUT:
                continue
            source = Source(path, first)
            source.drop_keys()
            source.drop_calls()
            if source.mutants:
                files[path] = source.text()
                numbers.update((name, first + index) for index, name in enumerate(source.mutants))
                first += len(source.mutants)
    for kind in ("hook", "copy", "quick", "class", "conf", "key", "drop"):
        if not any(name.startswith(kind + ":") for name in numbers):
            raise ValueError("generate.py finds nothing any more for the kind %s" % kind)
    files["shim/base/mutant.c"] = MUTANT_C
    files["shim/base/mutant.h"] = "extern int gsb_mutant;\n"
    return files, numbers


def build(built):
    """The tree with all mutants in it, and their numbers by name."""
    files, numbers = mutants()
    tree = Tree("generated", built)
    if built:
        for path, text in files.items():
            if not os.path.exists(os.path.join(tree.root, path)) or tree.read(path) != text:
                raise ValueError("%s of the built tree is not of these sources; leave --built out" % path)
        return tree, numbers
    objects = {"build/check/" + path[:-2] + suffix for path in files for suffix in (".o", ".d")}
    tree.sync(leave=set(files) | objects | {"build/check/libgpushim.so", "build/check/libgpushim_check.a"})
    for path, text in files.items():
        there = os.path.join(tree.root, path)
        if not os.path.exists(there) or tree.read(path) != text:
            tree.write(path, text)
    tree.make_shim()
    return tree, numbers


def equivalents():
    """(pattern, reason) of mutants that change nothing that matters."""
    rows = []
    with open(os.path.join(os.path.dirname(__file__), "equivalent.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, _, reason = line.strip().partition(" | ")
                rows.append((pattern, reason))
    return rows


class Trial:
    """One mutant and its checks, which several threads may make at once; the row is shown when its fate is known."""

    def __init__(self, name, number, texts, control):
        self.name, self.texts, self.control = name, texts, control
        self.checks = Checks(control.tree.build)
        self.checks.expected = control.checks.expected
        self.checks.extra = {"GSB_MUTANT": str(number)}
        self.lock = threading.Lock()
        self.row = None
        self.seconds, self.passed, self.ended = 0.0, 0, 0
        self.known = None # what caught it last time

    def run(self, texts):
        for text in texts:
            start = time.monotonic()
            try:
                verdict = self.checks.run(text) if self.row is None else None
                failed = verdict is not None and not verdict.passed and self.control.confirm(text)
            except OutOfTime:
                verdict = None
            with self.lock:
                self.seconds += time.monotonic() - start
                self.ended += 1
                self.passed += verdict is not None and not failed
                if self.row is None and verdict is not None and failed:
                    self.settle(text, verdict.why, seed_of(text))
                elif self.row is None and self.ended == len(self.texts):
                    self.settle(*self.uncaught())

    def uncaught(self):
        if self.passed < len(self.texts):
            return UNFINISHED, "%d of %d checks passed" % (self.passed, len(self.texts))
        for pattern, reason in equivalents():
            if fnmatch.fnmatchcase(self.name, pattern):
                return EQUIVALENT, reason
        return None, "all %d checks passed" % len(self.texts)

    def settle(self, caught, why, seed="-"):
        self.row = Row(self.name, caught, seed, self.seconds, why)
        self.row.show()


def run(trials, jobs):
    """What caught each last time; then the short checks of all, each mutant's in turn until one fails; then the long ones
    of those still uncaught, each by itself, so that no processor is idle at the end."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        parts = [(trial, [trial.known]) for trial in trials if trial.known is not None]
        rest = [(trial, [text for text in trial.texts if text != trial.known]) for trial in trials]
        parts += [(trial, [text for text in texts if not is_long(text)]) for trial, texts in rest]
        parts += [(trial, [text]) for trial, texts in rest for text in texts if is_long(text)]
        for done in [workers.submit(trial.run, part) for trial, part in parts]:
            done.result()
    return [trial.row for trial in trials]
