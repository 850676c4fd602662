#!/usr/bin/env python3
# timeout 240
"""Files for other tools: each read by a reader of its format, and compared with what top says of the same snapshot."""

import csv
import gzip
import io
import json
import os
import pickle
import pickletools
import re
import shutil
import subprocess

import protobuf
import tap

torch = os.path.basename(tap.snapshot("torch", 32))
tap.torch_real("train.json", "train", "decode", "books")
tap.real("mix.json", "tests/preload/rt_mix", "5", "1500", options=("--memory", "4G"))
tap.real("cut.json", "tests/preload/rt_mix", "6", "1500", conf="history:500", options=("--memory", "4G"))
FILES = (torch, "train.json", "mix.json", "cut.json", os.path.basename(tap.snapshot("blocks", 21, 7)))
EMPTY = os.path.basename(tap.snapshot("blocks", 0))

# What memory_viz's own loader knows.
OPCODES = set("PROTO FRAME MARK STOP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE "
              "EMPTY_LIST APPEND APPENDS LIST EMPTY_DICT SETITEM SETITEMS DICT EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 MEMOIZE "
              "BINPUT LONG_BINPUT BINGET LONG_BINGET".split())


def export(form, name, *options):
    path = tap.path_of("out")
    status, out, err = tap.report("export", form, "-f", "-o", "out", *options, name)
    assert (status, out, err) == (0, "", ""), (form, name, status, out, err)
    with open(path, "rb") as file:
        return file.read()


def sums(name, *options):
    return json.loads(tap.report("top", "--json", "-n", "0", *options, name)[1])["sum"]


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def batches(data):
    """The longest run of items that one APPENDS adds."""
    marks, longest, items = [], 0, [0]
    for opcode, _, _ in pickletools.genops(data):
        if opcode.name == "MARK":
            items.append(0)
        elif opcode.name in ("APPENDS", "SETITEMS", "TUPLE"):
            longest = max(longest, items.pop()) if opcode.name == "APPENDS" else (items.pop(), longest)[1]
        elif opcode.name not in ("BINPUT", "LONG_BINPUT", "PROTO", "STOP", "TUPLE2"):
            items[-1] += 1
        elif opcode.name == "TUPLE2":
            items[-1] -= 1
    return longest


def viewer(snapshot):
    """What the viewer does: backwards from the segments, through each device's trace. Returns bytes alive at first and at last."""
    alive = {}
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                alive[segment["device"], block["address"]] = block["size"]
    last = sum(alive.values())
    for device, trace in enumerate(snapshot["device_traces"]):
        for entry in reversed(trace):
            key = (device, entry.get("addr"))
            if entry["action"] == "alloc":
                assert alive.pop(key) == entry["size"]
            elif entry["action"] == "free_completed":
                assert key not in alive
                alive[key] = entry["size"]
                assert any(segment["device"] == device and segment["address"] <= entry["addr"] and
                           entry["addr"] + entry["size"] <= segment["address"] + segment["total_size"]
                           for segment in snapshot["segments"]), "a block outside of all segments"
    return sum(alive.values()), last


for name in (*FILES, EMPTY):
    data = export("memory_viz", name)
    used = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    tap.ok(used <= OPCODES and data[:2] == b"\x80\x04", name + ": only opcodes that memory_viz's loader knows", used - OPCODES)
    tap.ok(batches(data) <= 1000, name + ": lists in batches", batches(data))
    snapshot = pickle.loads(data)
    tap.ok(plain(snapshot) == json.loads(export("memory_viz-json", name)), name + ": pickle and JSON say the same")
    for segment in snapshot["segments"]:
        at, states = segment["address"], {}
        for block in segment["blocks"]:
            assert block["address"] == at and block["size"] > 0, "blocks fill a segment"
            states[block["state"]] = states.get(block["state"], 0) + block["size"]
            at += block["size"]
        assert at == segment["address"] + segment["total_size"] and set(states) <= {"active_allocated", "inactive"}
        assert states.get("active_allocated", 0) == segment["allocated_size"] == segment["active_size"] >= segment["requested_size"]
        assert type(segment["segment_pool_id"]) is tuple and segment["segment_type"] in ("small", "large")
    tap.ok(True, name + ": blocks fill their segments, and sums are right")
    first, last = viewer(snapshot)
    use = sums(name)
    with open(tap.path_of(name), encoding="utf-8") as file:
        complete = json.load(file)["recording"]["events_dropped"] == 0 and name != EMPTY
    tap.ok(not complete or first == 0, name + ": the viewer's way back ends with nothing", (first, last))
    categories = {entry.get("category") for trace in snapshot["device_traces"] for entry in trace}
    tap.ok(categories in (set(), {None}) or "unknown" in categories, name + ": categories are safe", categories)
    if complete:
        alloc = [entry for trace in snapshot["device_traces"] for entry in trace if entry["action"] == "alloc"]
        tap.equal((sum(entry["size"] for entry in alloc), len(alloc)), (use["total_bytes"], use["total_count"]), name + ": allocations")
    for trace in snapshot["device_traces"]:
        for before, entry in zip(trace, trace[1:]):
            if before["action"] == "free_requested":
                assert entry["action"] == "free_completed" and entry["addr"] == before["addr"]
tap.ok(export("memory_viz", torch, "--what=block") != export("memory_viz", torch), "another sort of memory can be chosen")
tap.ok(tap.report("export", "memory_viz", "--what=tensor+block", torch)[0] == 2, "but none that overlap")
first = pickle.loads(export("memory_viz", torch))["device_traces"][0][0]
tap.equal(first["frames"][1], {"filename": "/home/user/job/net/model.py", "line": 41, "name": "forward"}, "frames, innermost first")

for name in FILES:
    use = sums(name)
    # Chrome.
    events = json.loads(export("chrome", name))["traceEvents"]
    memory = [event for event in events if event["name"] == "[memory]"]
    allocated = {}
    for event in memory:
        assert event["ph"] == "i" and event["s"] == "t" and isinstance(event["ts"], float)
        args = event["args"]
        if (args["Device Type"], args["Device Id"]) in allocated:
            assert args["Total Allocated"] == allocated[args["Device Type"], args["Device Id"]] + args["Bytes"]
        allocated[args["Device Type"], args["Device Id"]] = args["Total Allocated"]
    tap.equal(sum(event["args"]["Bytes"] for event in memory if event["args"]["Bytes"] > 0), use["total_bytes"],
              name + ": chrome: allocations, and running sums")
    counters = [event["args"]["live"] for event in events if event["ph"] == "C"]
    tap.equal(max(counters), max(event["args"]["Total Allocated"] for event in memory), name + ": chrome: counters")
    # Perfetto.
    packets = [protobuf.fields(packet) for packet in protobuf.fields(export("perfetto", name))[1]]
    tracks, names, alloc, live = {}, {}, 0, []
    for number, packet in enumerate(packets):
        assert packet[10] == [1] and packet[13] == [3 if number == 0 else 2]
        if 60 in packet:
            track = protobuf.fields(packet[60][0])
            tracks[track[1][0]] = track
        for interned in packet.get(12, []):
            entry = protobuf.fields(protobuf.fields(interned)[2][0])
            names[entry[1][0]] = entry[2][0].decode()
        if 11 in packet:
            event = protobuf.fields(packet[11][0])
            assert event[11][0] in tracks and 8 in packet
            if event[9] == [4]:
                live += event[30] if b"live" in tracks[event[11][0]][2][0] else []
            else:
                assert event[9] == [3] and event[10][0] in names
                notes = {protobuf.fields(note)[10][0]: protobuf.fields(note) for note in event[4]}
                alloc += notes[b"bytes"][3][0] if event[22] == [b"alloc"] else 0
                assert 7 in notes[b"address"]
    tap.equal((alloc, max(live)), (use["total_bytes"], max(counters)), name + ": perfetto: allocations and counters, by field numbers")
    # speedscope.
    scope = json.loads(export("speedscope", name))
    wanted = (use["peak_bytes"], use["live_bytes"], use["total_bytes"])
    for profile, total in zip(scope["profiles"], wanted):
        assert profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(scope["shared"]["frames"]) for sample in profile["samples"] for frame in sample)
        assert all(profile["samples"])
    tap.equal([(sum(profile["weights"]), profile["endValue"]) for profile in scope["profiles"]], [(total, total) for total in wanted],
              name + ": speedscope: weights")
    # Folded.
    for order, total in ("live", use["live_bytes"]), ("total", use["total_bytes"]), ("count", use["total_count"]):
        lines = export("folded", name, "--by", order).decode().splitlines()
        assert all(re.fullmatch(r".+ \d+", line) for line in lines)
        tap.equal(sum(int(line.rsplit(" ", 1)[1]) for line in lines), total, "%s: folded --by %s" % (name, order))
    # pprof.
    profile = protobuf.fields(export("pprof", name))
    strings = [string.decode() for string in profile[6]]
    types = [tuple(strings[number] for (number,) in protobuf.fields(kind).values()) for kind in profile[1]]
    locations = {protobuf.fields(location)[1][0]: protobuf.fields(location) for location in profile[4]}
    functions = {protobuf.fields(function)[1][0]: protobuf.fields(function) for function in profile[5]}
    mappings = {protobuf.fields(mapping)[1][0] for mapping in profile.get(3, [])}
    total = [0] * len(types)
    for sample in map(protobuf.fields, profile[2]):
        assert all(location in locations for location in protobuf.numbers(sample[1][0]))
        values = protobuf.numbers(sample[2][0])
        total = [one + other for one, other in zip(total, values)]
        assert len(values) == len(types)
    for location in locations.values():
        assert location.get(2, [0])[0] in mappings | {0}
        assert protobuf.fields(location[4][0])[1][0] in functions
    tap.ok(strings[0] == "" and all(max(function[2][0], function[4][0]) < len(strings) for function in functions.values()),
           name + ": pprof: texts")
    tap.equal(dict(zip(types, total)), {("alloc_objects", "count"): use["total_count"], ("alloc_space", "bytes"): use["total_bytes"],
                                        ("peak_space", "bytes"): use["peak_bytes"], ("inuse_objects", "count"): use["live_count"],
                                        ("inuse_space", "bytes"): use["live_bytes"]}, name + ": pprof: figures")
    # heaptrack: its own records, and its own reader where that is installed.
    alive, sizes, traces, places, texts, peak = {}, [], 0, 0, 0, 0
    for line in export("heaptrack", name).decode().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "s":
            texts += 1
        elif kind == "i":
            places += 1
            assert all(int(number, 16) <= texts for number in rest.split()[1:4])
        elif kind == "t":
            place, parent = (int(number, 16) for number in rest.split())
            assert 0 < place <= places and parent <= traces
            traces += 1
        elif kind == "a":
            size, trace = (int(number, 16) for number in rest.split())
            assert trace <= traces
            sizes.append(size)
        elif kind in "+-":
            number = int(rest, 16)
            alive[number] = alive.get(number, 0) + (1 if kind == "+" else -1)
            assert alive[number] >= 0
            peak = max(peak, sum(sizes[number] * count for number, count in alive.items())) if name == torch else peak
    if name == torch:
        tap.equal(peak, use["peak_bytes"], name + ": heaptrack: the peak")
    tap.equal(sum(alive.values()) >= use["live_count"], True, name + ": heaptrack: what is alive")
    if shutil.which("heaptrack_print"):
        run = subprocess.run(["heaptrack_print", "-f", tap.path_of("out")], capture_output=True, text=True)
        found = re.search(r"total runtime: .*\ncalls to allocation functions: (\d+)", run.stdout)
        tap.ok(run.returncode == 0 and found and int(found[1]) >= use["total_count"], name + ": heaptrack_print reads it", run.stdout[-600:])
    # RMM.
    rows = list(csv.DictReader(io.StringIO(export("rmm-csv", name).decode())))
    alive = {}
    for row in rows:
        assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{6}", row["Time"])
        if row["Action"] == "allocate":
            alive[row["Pointer"]] = int(row["Size"])
        elif row["Action"] == "free":
            assert alive.pop(row["Pointer"]) == int(row["Size"])
    tap.equal(sum(int(row["Size"]) for row in rows if row["Action"] == "allocate"), use["total_bytes"], name + ": rmm-csv: allocations")
    # Rows.
    lines = [json.loads(line) for line in export("rows", name).decode().splitlines()]
    table = list(csv.DictReader(io.StringIO(export("rows-csv", name).decode())))
    tap.ok([{key: str(value) for key, value in line.items()} for line in lines] == table, name + ": rows and rows-csv say the same")
    with open(tap.path_of(name), encoding="utf-8") as file:
        snapshot = json.load(file)
    tap.equal([line["size_bytes"] for line in lines], snapshot["events"]["size_bytes"], name + ": rows: every event")
    # Prometheus.
    families, series = {}, set()
    text = export("prometheus", name).decode()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            families[line.split()[2]] = line.split()[3]
            continue
        if line.startswith("# HELP "):
            continue
        found = re.fullmatch(r'(\w+)(\{\w+="(?:[^"\\\n]|\\.)*"(?:,\w+="(?:[^"\\\n]|\\.)*")*\}) (-?[0-9.]+)', line)
        assert found and found[1] in families, line
        assert (found[1], found[2]) not in series, "a series given twice"
        assert families[found[1]] != "counter" or found[1].endswith("_total")
        series.add((found[1], found[2]))
    labels = {"gpushim_device_memory_total_bytes" + found for family, found in series if family == "gpushim_device_memory_total_bytes"}
    meta = snapshot["meta"]
    tap.equal(labels, {'gpushim_device_memory_total_bytes{pid="%d",rank="%s",gpu="%d",UUID="%s",modelName="%s",hostname="%s"}'
                       % (meta["pid"], "" if meta["rank"] is None else meta["rank"], device["ordinal"], device["uuid"], device["name"], meta["hostname"])
                       for device in snapshot["devices"]}, name + ": prometheus: each device once, labelled as DCGM's exporter does")
    tap.ok(text.endswith("\n"), name + ": prometheus: the last line is whole", text[-100:])

# Packed, as go tool pprof wants it by habit.
tap.report("export", "pprof", "-o", "profile.pb.gz", torch)
with gzip.open(tap.path_of("profile.pb.gz")) as file:
    tap.equal(file.read(), export("pprof", torch), "a profile that is packed")
for arguments, wanted in ((("export", "svg", torch), 'there is no format "svg"'), (("export", "folded"), "a format, then one file"),
                          (("export", "folded", torch, torch), "a format, then one file"), (("export",), "export: no file")):
    status, out, err = tap.report(*arguments)
    tap.ok((status, out) == (2, "") and wanted in err and err.count("\n") == 1, "wrong usage: " + " ".join(arguments[:2]), err)
tap.done()
