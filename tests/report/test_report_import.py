#!/usr/bin/env python3
"""Files of other tools, read as they are and after import; names for native frames; and snapshots that are written again."""

import gzip
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

import tap
from json_schema import check

with open(os.path.join(tap.TOP, "report/schema.json")) as file:
    SCHEMA = json.load(file)
tap.torch_real("train.json", "train", "decode", "books")
tap.real("mix.json", "tests/preload/rt_mix", "5", "1500", options=("--memory", "4G"))
torch = os.path.basename(tap.snapshot("torch", 32))


def read(*arguments, status=0):
    got, out, err = tap.report(arguments[0], "--json", *arguments[1:])
    assert (got, err) == (status, ""), (arguments, got, err)
    return json.loads(out)


def sums(name, *options):
    use = read("top", "-n", "0", *options, name)
    return use["sum"], {row["name"]: row["live_bytes"] for row in use["rows"]}


def imported(name, wanted_err=""):
    """The snapshot that import makes; it has to fit the schema."""
    status, out, err = tap.report("import", "-f", "-o", name + ".imported", name)
    assert (status, out, err) == (0, "", wanted_err), (status, out, err)
    with open(tap.path_of(name + ".imported"), encoding="utf-8") as file:
        snapshot = json.load(file)
    tap.equal(check(snapshot, SCHEMA, SCHEMA), None, name + ": what import writes fits schema.json")
    return snapshot


def put(name, data):
    with open(tap.path_of(name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return name


# A snapshot through PyTorch's format and back.
for name in "train.json", torch:
    tap.report("export", "memory_viz", "-f", "-o", "memory.pickle", name)
    before, after = sums(name), sums("memory.pickle")
    for figure in "live_bytes", "live_count", "peak_bytes", "total_bytes", "total_count":
        tap.equal(after[0][figure], before[0][figure], "%s through a pickle: %s" % (name, figure))
    imported("memory.pickle")
    tap.equal(sums("memory.pickle.imported"), after, name + ": import says what the pickle says")
lines = sums("memory.pickle")[1]
tap.equal((lines["/home/user/job/net/model.py:41 in forward"], lines["/home/user/job/train.py:17 in load"]), (29360128, 12582912),
          "lines are those of the pickle")
with open(tap.path_of("memory.pickle"), "rb") as file:
    data = file.read()
put("memory.pickle.gz", gzip.compress(data))
tap.equal(sums("memory.pickle.gz"), sums("memory.pickle"), "a packed pickle")

# A pickle as PyTorch writes it, by hand: every protocol, both kinds of frames, what was there before, what waits.
python = {"filename": "/job/train.py", "line": 7, "name": "step"}
native = {"filename": "??", "line": 0, "name": "c10::cuda::CUDACachingAllocator::malloc"}
trace = [
    {"action": "segment_alloc", "addr": 0x7F0000000000, "size": 20 << 20, "stream": 0, "time_us": 1700000000000000, "frames": [native, python]},
    {"action": "alloc", "addr": 0x7F0000000000, "size": 4 << 20, "stream": 0, "time_us": 1700000000000001, "frames": [native, python]},
    {"action": "alloc", "addr": 0x7F0000400000, "size": 2 << 20, "stream": 0, "time_us": 1700000000000010, "frames": [native, python]},
    {"action": "free_requested", "addr": 0x7F0000400000, "size": 2 << 20, "stream": 0, "time_us": 1700000000000020},
    {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": 1700000000000030, "frames": [python]},
    {"action": "snapshot", "addr": 0, "size": 0, "stream": 0, "time_us": 1700000000000040},
]
segment = {"device": 1, "address": 0x7F0000000000, "total_size": 20 << 20, "allocated_size": 4 << 20, "active_size": 6 << 20,
           "requested_size": 4 << 20, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
           "blocks": [{"address": 0x7F0000000000, "size": 4 << 20, "requested_size": 4 << 20, "state": "active_allocated", "frames": [python]},
                      {"address": 0x7F0000400000, "size": 2 << 20, "requested_size": 2 << 20, "state": "active_pending_free", "frames": []},
                      {"address": 0x7F0000600000, "size": 14 << 20, "requested_size": 0, "state": "inactive", "frames": []}]}
whole = {"segments": [segment], "device_traces": [[], trace], "allocator_settings": {"garbage_collection_threshold": 0.5, "other": None},
         "external_annotations": []}
for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
    put("hand.pickle", pickle.dumps(whole, protocol=protocol))
    use, lines = sums("hand.pickle")
    tap.equal((use["live_bytes"], use["peak_bytes"], use["total_count"], list(lines)), (4 << 20, 6 << 20, 2, ["/job/train.py:7 in step"]),
              "protocol %d" % protocol)
snapshot = imported("hand.pickle")
tap.equal([device["ordinal"] for device in snapshot["devices"]], [0, 1], "its devices")
tap.equal(snapshot["meta"]["start_wall_ns"], "1700000000000000000", "its time")
out = tap.report("summary", "hand.pickle")[1]
tap.ok("Out of memory (GPU 1): /job/train.py:7 in step asked for 1.0 TiB" in out and "(snapshot of PyTorch)" in out, "summary of a pickle", out)
frag = read("frag", "hand.pickle")["pytorch"]
tap.equal((frag["held_bytes"], frag["tensor_bytes"], frag["page_bytes"]), (20 << 20, 4 << 20, 16 << 20), "what PyTorch wasted there")
row = read("top", "-g", "stack", "hand.pickle")["rows"][0]
tap.equal(row["stack"], ["c10::cuda::CUDACachingAllocator::malloc in libtorch", "/job/train.py:7 in step"] if row["total_count"] == 2
          else row["stack"], "its stacks")
for command in "summary", "top", "leaks", "sync", "launch", "frag", "timeline", "graph", "export rows", "export memory_viz-json", "export chrome":
    tap.equal(tap.report(*command.split(), "hand.pickle")[::2], (0, ""), command + " of a pickle")
whole["device_traces"][1] = trace[3:]
put("cut.pickle", pickle.dumps(whole))
tap.equal(read("top", "cut.pickle")["history_complete"], False, "a history that does not hold everything")
tap.equal(sums("cut.pickle")[0]["live_bytes"], 4 << 20, "what is alive is known nevertheless")

# Hostile ones run nothing.
os.environ["NOTE"] = tap.path_of("ran")


class Runs:
    def __reduce__(self):
        return os.system, ("touch $NOTE",)


circle = []
circle.append(circle)
inside = dict(segment, blocks=circle, frames=circle)
for name, data, wanted in (
        ("a pickle that runs a command", pickle.dumps({"segments": Runs()}), "it wants to run code, which no snapshot needs at byte"),
        ("a pickle of something else", pickle.dumps([1, 2]), 'a pickle, but no snapshot of PyTorch: it has no "segments" at byte 0'),
        ("a pickle without segments", pickle.dumps({"segments": 5}), 'it has no "segments"'),
        ("a pickle that is cut off", pickle.dumps(whole)[:-9], "the file ends too early at byte"),
        ("a protocol to come", b"\x80\x09.", "a protocol that is not known at byte 0"),
        ("no value", b"\x80\x02.", "it ends with no value, or with several at byte 2"),
        ("a memo from nowhere", b"\x80\x02h\x05.", "a memo that was never written at byte 2"),
        ("a huge memo", b"\x80\x02]r\xff\xff\xff\xff.", "a memo that is too large at byte 3"),
        ("a huge text", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "the file ends too early at byte 2"),
        ("no mark", b"\x80\x02]e.", "no mark at byte 3"),
        ("a key without a value", b"\x80\x02}(K\x01u.", "a key without a value at byte"),
        ("an unknown opcode", b"\x80\x02\xff.", "an opcode that is not known at byte 2")):
    status, out, err = tap.report("summary", put("bad.pickle", data))
    tap.ok((status, out) == (2, "") and wanted in err and err.startswith("gpushim-report: bad.pickle: ") and err.count("\n") == 1, name, err)
tap.ok(not os.path.exists(tap.path_of("ran")), "and nothing was run")
put("circle.pickle", pickle.dumps({"segments": [inside], "device_traces": circle}))
tap.equal(tap.report("top", "circle.pickle")[::2], (0, ""), "values that contain themselves are followed no deeper than needed")
put("deep.pickle", b"\x80\x02}X\x08\0\0\0segments" + b"]" * 100000 + b"a" * 99999 + b"s.")
tap.equal(tap.report("top", "deep.pickle")[::2], (0, ""), "100,000 levels")
put("odd.pickle", pickle.dumps({"segments": [5, None, {"blocks": 7}, dict(segment, address=-1, total_size=1 << 80, device=1 << 60)],
                                "device_traces": [None, [1, {}, {"action": "alloc"}, {"action": "alloc", "addr": -5, "size": 1 << 70}]]}))
tap.equal(tap.report("summary", "odd.pickle")[::2], (0, ""), "values of wrong kinds count as nothing")
tap.report("import", "-f", "-o", "odd.json", "odd.pickle")
tap.equal(tap.report("summary", "odd.json")[::2], (0, ""), "and what import makes of them can be read")

# RMM: the same through a log and back; forms of times; what is wrong in which line.
tap.report("export", "rmm-csv", "-o", "log.csv", "mix.json")
before, after = sums("mix.json")[0], sums("log.csv")[0]
for figure in "live_bytes", "live_count", "peak_bytes", "total_bytes", "total_count":
    tap.equal(after[figure], before[figure], "through a log of RMM: " + figure)
imported("log.csv")
HEAD = "Thread,Time,Action,Pointer,Size,Stream\n"
for name, first, second, wanted in (("times of the day", "23:59:59.999999", "00:00:00.000001", 2000),
                                    ("with colons", "14:21:19:998533", "14:21:20:000533", 2000000),
                                    ("seconds since 1970", "1634567890.123456", "1634567890.234567", 111111000)):
    text = HEAD + "".join("140573312345856,%s,%s,0x7f8a40000000,1024,0x7f8a38001020\n" % pair
                          for pair in ((first, "allocate"), (second, "deallocate")))
    snapshot = imported(put("times.csv", text))
    tap.equal((snapshot["meta"]["elapsed_ns"], snapshot["events"]["time_delta_ns"]), (wanted, [0, wanted]), name)
text = HEAD + "1,14:00:00.5,allocate,0x10,5,0\r\n1,14:00:01,allocate failure,0x0,9999,0x2\r\n\r\n1,14:00:02,free,0x99,7,0\r\n"
snapshot = imported(put("odd.csv", text))
tap.equal((sums("odd.csv")[0]["live_bytes"], snapshot["recording"]["events_dropped"]), (5, 1), "failures, and frees of what was before")
for name, line, wanted in (("an action", "1,14:00:00,melt,0x1,5,0", "an action that is not known"), ("a time", "1,noon,free,0x1,5,0", "no time"),
                           ("a size", "1,14:00:00,allocate,0x1,many,0", "no size"), ("a pointer", "1,14:00:00,allocate,,5,0", "no pointer"),
                           ("a far time", "1,1634567890.5,allocate,0x1,5,0", "a time that is far from the first one"),
                           ("a huge size", "1,14:00:00,allocate,0x1,99999999999999999999999,0", "no size"), ("half a line", "1,14:0", "an action")):
    good = HEAD + "1,13:00:00,allocate,0x1,5,0\n"
    status, out, err = tap.report("top", put("bad.csv", good + line + "\n"))
    tap.ok((status, out) == (2, "") and err.startswith("gpushim-report: bad.csv: " + wanted) and err.endswith(" at byte %d\n" % len(good)),
           "a log with a wrong line: " + name, err)
status, out, err = tap.report("top", put("bad.csv", "Thread,Time,Action,Size\n"))
tap.ok(status == 2 and "a column is missing" in err, "a log without a column", err)

# Snapshots that are written again say the same.
for name in "train.json", "mix.json", torch:
    imported(name)
    for command in ("summary", "--json"), ("top", "-g", "stack"), ("frag",), ("sync",), ("launch",):
        first, second = (tap.report(*command, other, COLUMNS="1000")[1].replace(other, "FILE") for other in (name, name + ".imported"))
        tap.equal(second, first, "%s written again: %s" % (name, " ".join(command)))

# Names for native frames.
folder = tap.path_of("elsewhere")
os.makedirs(folder)
status, out, err = tap.report("symbolize", "-o", "named.json", "mix.json")
tap.ok(status == 0 and re.fullmatch(r"gpushim-report: mix.json: \d+ native frames have got names, \d+ have none\n", err), "symbolize", err)
with open(tap.path_of("named.json"), encoding="utf-8") as file:
    named = json.load(file)
tap.equal(check(named, SCHEMA, SCHEMA), None, "what it writes fits schema.json")
program = os.path.join(tap.BUILD, "tests/preload/rt_mix")
with open(tap.path_of("mix.json"), encoding="utf-8") as file:
    raw = file.read()
tap.ok(program in raw, "the program's file is in the snapshot")
put("gone.json", raw.replace(program, "/nowhere/rt_mix"))
put("gone-named.json", json.dumps(named).replace(program, "/nowhere/rt_mix"))
tap.ok("main" not in tap.report("top", "gone.json")[1] and "rt_mix+0x" in tap.report("top", "gone.json")[1],
       "without the file there are no names", tap.report("top", "gone.json")[1])
tap.ok("main+0x" in tap.report("top", "gone-named.json")[1], "unless they are in the snapshot", tap.report("top", "gone-named.json")[1])
build_id = re.search(r"Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", program], capture_output=True, text=True).stdout)
places = [("beside others", "rt_mix"), ("below", "nowhere/rt_mix")]
if build_id:
    places.append(("by its build-id", ".build-id/%s/%s.debug" % (build_id[1][:2], build_id[1][2:])))
for name, place in places:
    root = os.path.join(folder, name.replace(" ", "-"))
    os.makedirs(os.path.dirname(os.path.join(root, place)), exist_ok=True)
    shutil.copy(program, os.path.join(root, place))
    tap.report("symbolize", "-f", "--root", root, "-o", "found.json", "gone.json")
    tap.ok("main+0x" in tap.report("top", "found.json")[1], "--root: the file " + name, tap.report("top", "found.json")[1])
os.makedirs(os.path.join(folder, "wrong"))
shutil.copy(tap.REPORT, os.path.join(folder, "wrong", "rt_mix"))
tap.report("symbolize", "-f", "--root", os.path.join(folder, "wrong"), "-o", "found.json", "gone.json")
if build_id:
    tap.ok(" in rt_mix" not in tap.report("top", "found.json")[1], "another file by that name gives no names")
tap.done()
