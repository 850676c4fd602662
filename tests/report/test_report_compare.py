#!/usr/bin/env python3
"""Commands over time, over space and over several files: timeline, frag, diff, merge, check, on files of real runs."""

import json
import os
import xml.dom.minidom

import tap

tap.torch_real("train.json", "train", "books")
tap.torch_real("decode.json", "train", "decode", "books", "train")
tap.real("mix.json", "tests/preload/rt_mix", "5", "1500", options=("--memory", "4G"))
tap.real("mix2.json", "tests/preload/rt_mix", "6", "1500", conf="history:500", options=("--memory", "4G"))
FILES = ("train.json", "decode.json", "mix.json", "mix2.json")


def read(*arguments, status=0):
    got, out, err = tap.report(arguments[0], "--json", *arguments[1:])
    assert (got, err) == (status, ""), (got, err)
    return json.loads(out)


for name in FILES:
    with open(tap.path_of(name), encoding="utf-8") as file:
        snapshot = json.load(file)
    top, line = read("top", name)["sum"], read("timeline", name)
    tap.equal(line["peak_bytes"], top["peak_bytes"], name + ": timeline and top agree on the peak")
    points = line["points"]
    tap.ok(max(point["live_bytes"] for point in points) == line["peak_bytes"] and len(points) == 200 and
           points[-1]["live_bytes"] >= top["live_bytes"], name + ": the points reach the peak, and end with what is alive")
    held = sum(snapshot["segments"]["size_bytes"])
    peak = sum(device["gauges"]["reserved_bytes"]["peak"] for device in snapshot["devices"] if device["gauges"])
    tap.ok(points[-1]["held_bytes"] >= held and line["held_peak_bytes"] <= peak and
           (line["held_peak_bytes"] == peak or not line["history_complete"]), name + ": what was held",
           (points[-1]["held_bytes"], held, line["held_peak_bytes"], peak))
    out = tap.report("timeline", "--svg", name)[1]
    tap.ok(xml.dom.minidom.parseString(out).documentElement.tagName == "svg", name + ": the picture is XML")
    frag = read("frag", "-n", "0", name)
    tap.equal(frag["held_bytes"], held, name + ": frag: what is held")
    blocks = snapshot["blocks"]
    free = sum(size for size, state in zip(blocks["reserved_bytes"], blocks["state"]) if blocks["state_names"][state] != "live")
    tap.equal((frag["hole_bytes"], sum(hole["size_bytes"] for hole in frag["holes"])), (free, free), name + ": frag: what is free")
    tap.equal(sum(pin["pinned_bytes"] for pin in frag["pins"]), frag["hole_bytes"] - frag["free_bytes"],
              name + ": frag: what is pinned is shared out whole")
    diff = read("diff", "-b", "live", "-n", "0", name, name)
    tap.equal((diff["before"], diff["after"], diff["rows"]), (top["live_bytes"], top["live_bytes"], []), name + ": no change")

torch = read("frag", "train.json")["pytorch"]
summary = read("summary", "train.json")["pytorch"]
tap.equal((torch["held_bytes"], torch["tensor_bytes"]), (summary["held_bytes"], summary["tensor_bytes"]),
          "frag and summary agree on PyTorch's cache")
tap.equal(torch["empty_bytes"] + torch["pinned_bytes"], summary["cached_bytes"], "its parts are the whole")
tap.ok(0 < torch["page_bytes"] <= torch["pinned_bytes"], "some whole pages are pinned", torch)

# Growth.
diff = read("diff", "-b", "total", "-n", "0", "train.json", "decode.json")
before, after = (read("top", name)["sum"]["total_bytes"] for name in ("train.json", "decode.json"))
tap.equal((diff["before"], diff["after"]), (before, after), "diff: the sums are those of top")
tap.equal(sum(row["after"] - row["before"] for row in diff["rows"]), after - before, "diff: rows add up")
for limit, status in ("1B", 1), ("1TiB", 0), ("0%", 1), ("1000000%", 0):
    got, out, err = tap.report("diff", "-b", "total", "--fail-over", limit, "train.json", "decode.json")
    tap.equal((got, err, ("It grew by more than %s." % limit) in out), (status, "", status == 1), "diff --fail-over " + limit)
tap.equal(tap.report("diff", "-b", "total", "--fail-over", "1B", "decode.json", "train.json")[0], 0, "shrinking is no growth")
for arguments in ("diff", "a"), ("diff", "a", "b", "c"):
    tap.equal(tap.report(*arguments)[::2], (2, "gpushim-report: diff: two files, the older one first\n"), " ".join(arguments))

# Ranks: each differs by what only it did.
for rank in range(4):
    tap.torch_real("rank%d.json" % rank, "train", *(("decode",) if rank == 2 else ()), "books")
job = read("merge", "-b", "total", "-g", "function", *("rank%d.json" % rank for rank in range(4)))
tap.equal([row["file"] for row in job["ranks"]], ["rank%d.json" % rank for rank in range(4)], "merge: all ranks")
most = job["rows"][0]
tap.equal((most["most_rank"], most["median"], most["most"] > most["least"]), (job["ranks"][2]["rank"], most["least"], True),
          "merge: who differs, and that the others do not")
tap.equal(read("merge", "rank0.json")["rows"], [], "one rank alone differs from nobody")
tap.equal(tap.report("merge", "rank0.json", "missing.json")[0], 2, "a rank that is missing")

# Limits.
with open(tap.path_of("limits"), "w") as file:
    file.write("# of this job\nheld_peak <= 90%   # of the device\n\n  leaks<=0\n")
# A short run: most of what it allocated is still alive, so that leaks are not known.
got, out, err = tap.report("check", "--limits", "limits", "-l", "out_of_memory<=0", "mix.json")
tap.equal((got, out.count(" kept "), err), (0, 3, ""), "limits of a file and of the command line")
for limit, state in (("live>=1B", "broken"), ("live<=0", "kept"), ("errors<=0", "kept"), ("host<1TiB", "kept"), ("findings<1000", "kept"),
                     ("waits<=100%", "kept"), ("launch_time<0.001%", "broken"), ("pinned<=100%", "kept")):
    checked = read("check", "-l", limit, "mix.json", status=state != "kept")["limits"][0]
    tap.equal((checked["limit"], checked["state"]), (limit, state), "check " + limit)
name = os.path.basename(tap.snapshot("blocks", 0))
tap.equal([row["state"] for row in read("check", "-l", "peak<=1%", "-l", "leaks<=0", name, status=1)["limits"]], ["unknown"] * 2,
          "what is not known breaks a limit")
# Nor does what nobody watched open a gate: with watch:off, or in a file of another tool.
with open(tap.path_of(name), encoding="utf-8") as file:
    snapshot = json.load(file)
for setting, unknown in (False, 3), (True, 0):
    snapshot["meta"]["settings"]["watch"] = setting
    with open(tap.path_of("watch.json"), "w", encoding="utf-8") as file:
        json.dump(snapshot, file)
    limits = [word for limit in ("waits<=100%", "findings<9", "launch_time<=100%", "errors<9", "host<=1TiB", "out_of_memory<9") for word in
              ("-l", limit)]
    states = [row["state"] for row in read("check", *limits, "watch.json", status=unknown > 0)["limits"]]
    tap.equal(states, ["unknown"] * unknown + ["kept"] * (6 - unknown), "watch:%s: what is known" % setting)
with open(tap.path_of("log.csv"), "w") as file:
    file.write("Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.1,allocate,0x100,8,0\n1,10:00:00.2,allocate failure,0x0,9,0\n")
states = [row["state"] for row in read("check", *limits, "log.csv", status=1)["limits"]]
tap.equal(states, ["unknown"] * 5 + ["kept"], "a log of RMM's: what is known")
states = [row["state"] for row in read("check", "-l", "held<1TiB", "-l", "holes<1TiB", "-l", "held_peak<1TiB", "log.csv", status=1)["limits"]]
tap.equal(states, ["unknown"] * 3, "and not what was held for it")
tap.equal(read("check", "-l", "out_of_memory<=0", "log.csv", status=1)["limits"][0]["state"], "broken", "and that memory ran out")
with open(tap.path_of("off.json"), "w", encoding="utf-8") as file:
    for table in "waits", "kernels":
        for column, cells in snapshot[table].items():
            snapshot[table][column] = cells if column.endswith("_names") else []
    snapshot["meta"]["settings"]["watch"] = False
    json.dump(snapshot, file)
with open(tap.path_of("killed.json"), "w", encoding="utf-8") as file:
    json.dump(dict(snapshot, meta=dict(snapshot["meta"], reason="killed", settings={"history": 9})), file)
for name, why in (("off.json", "the program ran with watch:off"), ("log.csv", "the tool that made this snapshot does not record them"),
                  ("killed.json", "the file that a killed process leaves does not hold them")):
    for command, what in ("sync", "waits"), ("launch", "launches"):
        out = tap.report(command, name)[1]
        tap.ok(out.endswith("\nno %s were recorded: %s\n" % (what, why)), "%s %s says why there are none" % (command, name), out)
states = [row["state"] for row in read("check", *limits, "-l", "held<1TiB", "killed.json", status=1)["limits"]]
tap.equal(states, ["unknown"] * 4 + ["kept"] * 2 + ["unknown"], "the file of a killed process: what is known")
for options, wanted in ((), "tensors"), (("-w", "block"), "block"), (("-w", "tensor+host"), "tensor, host"):
    out = tap.report("summary", *options, tap.snapshot("torch", 32))[1]
    tap.ok("\nMost memory alive: %s\n" % wanted in out, "summary %s says of what it speaks" % " ".join(options), out)
for limit, wanted in (("size<1", "there is no such figure"), ("peak", "a limit is:"), ("peak<=many", "this is no value"),
                      ("leaks<=5%", "no part of anything"), ("waits<5", "in seconds or as a share"), ("", "there is no such figure")):
    got, out, err = tap.report("check", "-l", limit, "mix.json")
    tap.ok((got, out) == (2, "") and err.startswith("gpushim-report: --limit: ") and wanted in err and err.count("\n") == 1,
           "a wrong limit: " + limit, err)
tap.equal(tap.report("check", "mix.json")[0], 2, "no limit at all")
tap.equal(tap.report("check", "--limits", "missing", "mix.json")[::2], (2, 'gpushim-report: limits: "missing": No such file or directory\n'),
          "limits that are not there")
# From A to B is from B to A turned round, adds up, and is what top says of both, by each group and order.
FIGURE = {"live": "live_bytes", "peak": "peak_bytes", "total": "total_bytes", "count": "total_count", "temporary": "temporary_count"}
for group in "line", "stack", "function", "class", "category", "stream", "thread", "size":
    wrong = []
    for order, figure in FIGURE.items():
        options = ("--json", "-n", "0", "-g", group, "-b", order)
        there, back = (json.loads(tap.report("diff", *options, *pair)[1]) for pair in (("train.json", "decode.json"), ("decode.json", "train.json")))
        tops = {}
        for index, name in enumerate(("train.json", "decode.json")):
            for row in json.loads(tap.report("top", *options, name)[1])["rows"]:
                key = (row["name"], tuple(row["stack"]) if group == "stack" else ())
                tops.setdefault(key, [0, 0])[index] += row[figure]
        changed = {key: tuple(pair) for key, pair in tops.items() if pair[0] != pair[1]}
        rows = {(row["name"], tuple(row.get("stack", ()))): (row["before"], row["after"]) for row in there["rows"]}
        turned = {(row["name"], tuple(row.get("stack", ()))): (row["after"], row["before"]) for row in back["rows"]}
        if not rows == turned == changed or sum(after - before for before, after in rows.values()) != there["after"] - there["before"]:
            wrong.append((order, rows, turned, changed))
    tap.equal(wrong, [], "diff by %s: turned round, as sums, and as top has it" % group)

# A time may be met exactly.
for figure in "waits", "launch_time":
    value = json.loads(tap.report("check", "--json", "-l", figure + "<1s", "train.json")[1])["limits"][0]["value"]
    tap.equal([tap.report("check", "-l", "%s%s%.9fs" % (figure, sign, nanoseconds / 1e9), "train.json")[0]
               for nanoseconds in (value - 1, value, value + 1) for sign in ("<=", ">=", "<", ">")],
              [1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1], "a limit on %s, to the nanosecond" % figure)
tap.done()
