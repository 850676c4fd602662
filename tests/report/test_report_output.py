#!/usr/bin/env python3
"""What gpushim-report prints: compared with tests/golden/. UPDATE=1 rewrites those files: read the difference."""

import gzip
import json
import os
import re
import subprocess
import time

import tap

GOLDEN = os.path.join(tap.TOP, "tests/golden")


def golden(name, *arguments, status=0, **environment):
    path = os.path.join(GOLDEN, name)
    got, out, err = tap.report(*arguments, **environment)
    if os.environ.get("UPDATE"):
        with open(path, "w") as file:
            file.write(out)
    with open(path) as file:
        wanted = file.read()
    tap.ok((got, out, err) == (status, wanted, ""), name, "status %d\n%s%s" % (got, out, err))


torch = os.path.basename(tap.snapshot("torch", 32))
blocks = os.path.basename(tap.snapshot("blocks", 21, 7))
golden("summary-torch.txt", "summary", torch)
golden("summary-blocks.txt", "summary", blocks)
golden("summary-no-history.txt", "summary", os.path.basename(tap.snapshot("blocks", 0)))
golden("top-no-history.txt", "top", os.path.basename(tap.snapshot("blocks", 0)))
golden("top-torch.txt", "top", torch)
golden("top-torch-narrow-color.txt", "top", "--color=always", torch, COLUMNS="70")
golden("top-torch-stack.txt", "top", "--group=stack", "--by=peak", torch)
golden("top-torch-class.txt", "top", "-g", "class", "-b", "count", torch)
golden("top-blocks-function.txt", "top", "--group", "function", "--by", "total", blocks)
golden("top-blocks-one-row.txt", "top", "-n", "1", blocks)
golden("top-what.txt", "top", "--what", "host+block", torch)
golden("sync-torch.txt", "sync", torch)
golden("sync-torch-all.txt", "sync", "-n", "0", "--color=always", torch, COLUMNS="70")
golden("sync-none.txt", "sync", blocks)
golden("launch-torch.txt", "launch", torch)
golden("launch-none.txt", "launch", blocks)
golden("timeline-torch.txt", "timeline", torch)
golden("timeline-blocks-narrow.txt", "timeline", blocks, COLUMNS="60")
golden("timeline-no-history.txt", "timeline", os.path.basename(tap.snapshot("blocks", 0)))
golden("timeline.svg", "timeline", "--svg", "-n", "40", torch)
golden("frag-torch.txt", "frag", torch)
golden("frag-blocks.txt", "frag", blocks)
golden("diff.txt", "diff", torch, blocks)
golden("diff-function-total.txt", "diff", "-g", "function", "-b", "total", "--fail-over=5%", os.path.basename(tap.snapshot("torch", 16)), torch,
       status=1)
golden("merge.txt", "merge", torch, blocks, torch)
golden("check.txt", "check", "-l", "peak<=10%", "-l", "leaks<=0", "-l", "waits<2s", "-l", "holes < 20 %", torch, status=1)
golden("graph.txt", "graph", torch)
golden("graph-none.txt", "graph", blocks)
golden("help.txt", "--help")
golden("help-check.txt", "check", "--help")

# Help for the settings comes from their table.
with open(os.path.join(tap.TOP, "shim/core/conf.def")) as file:
    names = re.findall(r"^GS_CONF_\w+\((\w+),", file.read(), re.M)
status, out, err = tap.report("--help-conf")
tap.equal((status, [name for name in names if name not in out], err), (0, [], ""), "--help-conf lists the settings")

# The manual names every option and command of the help.
with open(os.path.join(tap.TOP, "report/man/gpushim-report.1")) as file:
    manual = file.read().replace("\\-", "-")
words = re.findall(r"(?<![\w-])--[a-z-]+|^  ([a-z]+)  ", tap.report("--help")[1], re.M)
options = re.findall(r"(?<![\w-])--[a-z-]+", tap.report("--help")[1])
tap.equal([word for word in words + options if word and word not in manual], [], "the manual names all commands and options")

# The same figures as JSON, on one line.
for command in ("summary", "top"):
    status, out, err = tap.report(command, "--json", torch, blocks)
    lines = out.splitlines()
    tap.ok(status == 0 and len(lines) == 2 and not err, command + " --json gives a line for each file", err)
    first = json.loads(lines[0])
    top = first.get("top", first)
    tap.equal((first["file"], top["what"], top["history_complete"]), (torch, ["tensor"], True), command + " --json: what")
    tap.equal([(row["name"], row["live_bytes"], row["peak_bytes"], row["total_count"]) for row in top["rows"]],
              [("net/model.py:41 in forward", 29360128, 29360128, 16), ("train.py:17 in load", 12582912, 20971520, 5)],
              command + " --json: rows")
    tap.equal(top["rows"][1]["stack"], ["train.py:17 in load", "train.py:60 in <module>"], command + " --json: stack")
    tap.equal(json.loads(lines[1]).get("top", json.loads(lines[1]))["history_complete"], False,
              command + " --json: an incomplete history")
launch = json.loads(tap.report("launch", "--json", torch)[1])
tap.equal((launch["calls"], launch["host_ns"], [(row["name"], row["calls"]) for row in launch["lines"]]),
          (120000, 384000000, [("net/model.py:41 in forward", 110000), ("train.py:17 in load", 10000)]),
          "launch --json: launches, and lines")
steps = launch["steps"]
tap.equal([(loop["kind"], loop["steps"], loop["median_ns"], loop["typical"]["launches"]) for loop in steps],
          [("found", 300, 38000000, 400)], "launch --json: steps")
tap.equal([(step["number"], step["differs"]) for step in steps[0]["long"]],
          [(7, "20 more launches, 1.28 ms; 2 slow calls for memory, 860.00 ms")], "launch --json: a long step, and why")
sync = json.loads(tap.report("sync", "--json", torch)[1])
tap.equal([(f["kind"], f["problem"], f["place"], f["calls"], f["host_ns"]) for f in sync["findings"]],
          [("value", True, "net/model.py:41 in forward", 300, 2502400000),
           ("pageable", True, "train.py:17 in load", 20, 400000000),
           ("queue-full", False, "net/model.py:41 in forward", 900, 280000000)], "sync --json: findings")
summary = json.loads(tap.report("summary", "--json", torch)[1])
tap.equal(summary["pytorch"], {"tensor_bytes": 41943040, "tensor_count": 10, "held_bytes": 100663296,
                               "cached_bytes": 58720256, "outside_bytes": 8388608}, "what PyTorch holds and caches")
tap.equal(summary["meta"]["rank"], 3, "summary --json repeats the meta data")

# What is on a terminal stays harmless.
tap.ok("\x1b" not in tap.report("top", torch)[1], "no colour without a terminal")
tap.ok("\x1b" not in tap.report("top", "--color=never", torch)[1], "no colour with --color=never")
with open(tap.path_of(torch), encoding="utf-8") as file:
    hostile = file.read().replace('"hostname":"node7"', '"hostname":"\\u001b[2Jx\\u0007\\u009b\\u000ay"')
with open(tap.path_of("hostile.json"), "w", encoding="utf-8") as file:
    file.write(hostile)
out = tap.report("summary", "hostile.json")[1]
tap.ok("on ?[2Jx???y, rank" in out and "\x1b" not in out, "control characters of a file are not passed on", out[:300])

# Names longer than a cell are cut between characters, whatever their lengths.
for lead in range(4):
    with open(tap.path_of(torch), encoding="utf-8") as file:
        named = file.read().replace('"forward"', '"%s"' % ("x" * lead + "\u00e4\u6f22\U0001f600" * 200))
    with open(tap.path_of("names.json"), "w", encoding="utf-8") as file:
        file.write(named)
    for arguments in ("--json",), ("--json", "--group=function"), ("--group=stack",):
        run = subprocess.run([tap.REPORT, "top", *arguments, tap.path_of("names.json")], capture_output=True)
        try:
            good = "\u6f22" in run.stdout.decode() and run.returncode == 0
        except UnicodeDecodeError:
            good = False
        tap.ok(good, "a long name, %d letters before it: %s" % (lead, " ".join(arguments)), run.stderr)

# Other ways in.
with open(tap.path_of(torch), "rb") as file:
    plain = file.read()
with open(tap.path_of("packed.json.gz"), "wb") as file:
    file.write(gzip.compress(plain))
reference = tap.report("top", torch)[1]
tap.equal(tap.report("top", "packed.json.gz")[1].replace("packed.json.gz", torch), reference, "gzip is unpacked")
tap.equal(tap.report("top", "-", stdin=plain)[1].replace("-: python", torch + ": python", 1), reference, "- is standard input")
status, out, err = tap.report("top", torch, "missing.json", blocks)
tap.ok(status == 2 and out.count("python train.py") == 2 and err.count("\n") == 1,
       "the other files are still read when one is missing", err)

# Size. Times are printed, not judged.
big = tap.snapshot("big", 1000000)
size = os.path.getsize(big)
for command in ("summary", "top"):
    start = time.monotonic()
    run = subprocess.Popen([tap.REPORT, "--json", command, big], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = status
    peak = usage.ru_maxrss * 1024
    print("# %s of 1,000,000 events: %.2f s, file %.1f MB, memory %.1f MB" %
          (command, time.monotonic() - start, size / 1e6, peak / 1e6))
    tap.ok(status == 0 and peak <= 3 * size + 16e6, command + " of a large file takes at most three times its size", peak)
tap.done()
