#!/usr/bin/env python3
# slow
"""Damaged and foreign input: one clear line and status 2, or a result; never a crash. SEED=N repeats a run."""

import gzip
import json
import os
import random
import re
import subprocess

import tap

GOOD = tap.snapshot("torch", 32)
with open(GOOD, "rb") as file:
    BYTES = file.read()
SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
with open(os.path.join(tap.TOP, "report/schema.h"), encoding="utf-8") as file:
    SCHEMA = file.read()
LINE = re.compile(r"\Agpushim-report: [^\n]+\n\Z")


def put(name, data):
    with open(tap.path_of(name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return name


def refused(name, data, wanted):
    """The file is refused with status 2 and one line that contains wanted."""
    status, out, err = tap.report("summary", put("input.json", data))
    tap.ok(status == 2 and not out and LINE.match(err) and ("input.json: " + wanted) in err, name,
           "status %d\n%s%s" % (status, out[:500], err))


def edited(edit):
    data = json.loads(BYTES)
    edit(data)
    return json.dumps(data)


# What people hand it by mistake.
refused("an empty file", "", "the file is empty at byte 0")
refused("spaces alone", " \n ", "the file is empty at byte 3")
refused("text", "hello\n", "not JSON, or no object at byte 0")
refused("a list", "[1]", "not JSON, or no object at byte 0")
refused("a binary", b"\x7fELF\0\0", "not JSON, or no object at byte 0")
refused("some other JSON", '{"version": 1}', 'not a snapshot of gpushim: its first key is not "schema" at byte 0')
refused("an empty object", "{}", 'not a snapshot of gpushim: its first key is not "schema" at byte 0')
refused("a newer schema", '{"schema": 2}', "schema 2; this gpushim-report reads schema 1 at byte 11")
refused("no sections", '{"schema": 1}', 'there is no section "segments" at byte 13')
refused("two snapshots in one file", BYTES + BYTES, "something follows the end of the snapshot at byte %d" % len(BYTES))
refused("a truncated gzip file", gzip.compress(BYTES)[:-100], "the gzipped file ends too early")
refused("damaged gzip data", b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 50, "damaged gzip data")
for name, path, wanted in (("a missing file", "none.json", "No such file or directory"), ("a folder", ".", "Is a directory")):
    status, out, err = tap.report("top", path)
    tap.equal((status, out, err), (2, "", "gpushim-report: %s: %s\n" % (path, wanted)), name)

# Well-formed JSON with wrong content.
refused("100,000 levels", '{"schema":1,"x":' + "[" * 100000 + "]" * 100000 + "}", "nested deeper than 64 levels at byte 80")
refused("100,000 levels in a section", BYTES.replace(b'"settings":{', b'"settings":{"x":' + b"[" * 100000, 1), "nested deeper")
refused("a huge number", BYTES.replace(b'"schema":1', b'"schema":' + b"9" * 5000), "a number is too large at byte 11")
refused("a huge number in a column", edited(lambda d: d["blocks"]["size_bytes"].__setitem__(0, 10**30)), "a number is too large")
refused("a huge number in an object", edited(lambda d: d["meta"].update(pid=10**30)), 'meta: "pid" has a wrong value')
refused("a long number in an unknown key", edited(lambda d: d["meta"].update(pid=10**90)), "a number has more than 40 characters")
refused("an infinite number", edited(lambda d: d["meta"].update(pid=float("inf"))), "a value expected, not 'I'")
refused("a negative index", edited(lambda d: d["blocks"]["stack"].__setitem__(0, -1)), "a whole number expected, not '-'")
refused("a fraction", edited(lambda d: d["blocks"]["size_bytes"].__setitem__(0, 1.5)), "a whole number expected")
refused("a stack that is not there", edited(lambda d: d["blocks"]["stack"].__setitem__(0, 8)),
        "blocks.stack: row 0 points at 8 of 8")
refused("a name that is not there", edited(lambda d: d["events"]["type"].__setitem__(3, 17)),
        "events.type: row 3 points at 17 of 17")
refused("a string that is not there", edited(lambda d: d["frames"]["file"].__setitem__(1, 999)), "frames.file: row 1 points at 999")
refused("no names", edited(lambda d: d["events"].pop("type_names")), "events.type: row 0 points at 2 of 0")
refused("a circle of stacks", edited(lambda d: d["stacks"]["parent"].__setitem__(2, 3)),
        "the stacks run in a circle: stack 2 has parent 3")
refused("its own parent", edited(lambda d: d["stacks"]["parent"].__setitem__(2, 2)), "the stacks run in a circle")
refused("a module that is not there", edited(lambda d: d.update(modules={key: [] for key in d["modules"]})),
        "frames.module: row 5 points at 1 of 1")
refused("a long column", edited(lambda d: d["blocks"]["serial"].append(9)), "a column is longer than the one before it")
refused("a short column", edited(lambda d: d["blocks"]["serial"].pop()), "a column is shorter than the one before it")
refused("a missing column", edited(lambda d: d["blocks"].pop("serial")), 'blocks has no column "serial"')
refused("a missing section", edited(lambda d: d.pop("functions")), 'there is no section "functions"')
refused("a missing key", edited(lambda d: d["devices"][1].pop("uuid")), 'devices has no key "uuid"')
refused("a wrong type", edited(lambda d: d["meta"].update(reason=5)), 'meta: "reason" has a wrong value')
refused("an object for a list", edited(lambda d: d.update(threads={})), "threads is no list")
refused("an address that is none", edited(lambda d: d["live"]["address"].__setitem__(0, "0x1")), "a hexadecimal digit expected")
refused("a long address", edited(lambda d: d["live"]["address"].__setitem__(0, "1" * 17)), "1 to 16 hexadecimal digits")
refused("a section given twice", BYTES.replace(b'"strings":', b'"meta":{},"strings":'), "meta is given twice")
refused("a column given twice", BYTES.replace(b'"modules":{', b'"modules":{"base":[],"base":[],'), "modules.base is given twice")
refused("invalid UTF-8", BYTES.replace(b"model.py", b"mod\xff\xfe.py"), "a string is not UTF-8")
refused("half a surrogate pair", BYTES.replace(b"model.py", b"mod\\ud800.py"), "half a surrogate pair")
refused("an unknown escape", BYTES.replace(b"model.py", b"mod\\x.py"), "an unknown escape")
refused("a line feed in a string", BYTES.replace(b"model.py", b"mod\n.py"), "a control character in a string")
refused("a comma too many", BYTES.replace(b'"python","native"]', b'"python","native",]'), "a value after ',' expected, not ']'")
status, out, err = tap.report("summary", put("input.json", edited(lambda d: (d.update(new=[1, {"a": None}]), d["blocks"].update(new=[])))))
tap.equal((status, err), (0, ""), "unknown sections and columns are passed over")


def emptied(data):
    """No tables but the one of blocks, with nothing to point at."""
    for name in ("frames", "modules", "stacks", "live", "events", "waits", "kernels", "steps", "loops", "crossings"):
        data[name] = {key: [] for key in data[name]}
    data["strings"] = []
    data["blocks"]["stack"] = [0] * len(data["blocks"]["stack"])


def without_modules(data):
    data["modules"] = {key: [] for key in data["modules"]}
    data["frames"]["module"] = [0] * len(data["frames"]["module"])


for name, edit, wanted in (("no stacks at all", emptied, "(no stack)"), ("native frames of unknown files", without_modules, "?+0x1235")):
    put("input.json", edited(edit))
    status, out, err = tap.report("top", "--what=block", "--group=stack", "input.json")
    tap.ok(status == 0 and not err and wanted in out, "%s can be read" % name, out + err)



# Figures that no program leaves behind: nothing counted, or as much as there can be.
COUNTS = {table: [key for key, kind in re.findall(r"X\(%s, (\w+), (COUNT|HEX|SIGNED)," % table, SCHEMA)] for table in
          ("segments", "blocks", "live", "events", "launches", "waits", "kernels", "steps", "loops", "crossings")}
COMMANDS = [words.split() for words in (
    "summary", "top -g size", "top -g stream", "leaks", "frag", "timeline", "timeline --svg", "sync -n 0", "launch -n 0", "merge", "html -o -",
    "check -l findings<=0 -l leaks<=0 -l waits<=1% -l peak<=1% -l held<=5%", "export prometheus", "export heaptrack", "export chrome",
    "export rows", "export rmm-csv", "export memory_viz-json", "export speedscope")]


def waits_of_nothing(data):
    waits = data["waits"]
    for key, value in ("calls", 0), ("apart", 9), ("last_launch", 1 << 40), ("host_ns", 10**9), ("class", waits["class_names"].index("sync")):
        waits[key] = [value] * len(waits["stack"])
    waits["stack"] = [2] * len(waits["stack"])


def extreme(data):
    for _ in range(generator.choice((1, 3, 30))):
        table = generator.choice(list(COUNTS))
        column = data[table][generator.choice(COUNTS[table])]
        value = generator.choice(("0", "f" * 16) if column and isinstance(column[0], str) else (0, 1, 1 << 53))
        column[:] = [value if generator.random() < 0.7 else cell for cell in column]


generator = random.Random(SEED)
wrong = []
for round_ in range(40):
    put("input.json", edited(extreme if round_ else waits_of_nothing))
    for command in generator.sample(COMMANDS, 3) if round_ else COMMANDS:
        status, out, err = tap.report(*command, "input.json")
        if status not in (0, 1) or not out or err:
            wrong.append((round_, command, status, err[:300]))
tap.equal(wrong, [], "figures without sense, seed %d" % SEED)

# Truncated anywhere; a byte changed anywhere.
def survives(name, inputs):
    """Each input is refused in one line, or read; never anything else."""
    bad, read = [], 0
    for what, data in inputs:
        command = "top" if len(data) % 2 else "summary"
        status, out, err = tap.report(command, put("input.json", data))
        fine = (status == 2 and not out and LINE.match(err)) or (status == 0 and out and not err)
        read += status == 0
        if not fine:
            bad.append("%s: status %d, %r, %r" % (what, status, out[:100], err[:300]))
    tap.ok(not bad, "%s (%d of %d were readable)" % (name, read, len(inputs)), "\n".join(bad[:5]))
    return read


def changed(random_, data):
    """One byte replaced, removed or doubled."""
    at = random_.randrange(len(data))
    kind = random_.randrange(3)
    middle = bytes([random_.randrange(256)]) if kind == 0 else b"" if kind == 1 else data[at:at + 1] * 2
    return "byte %d, kind %d" % (at, kind), data[:at] + middle + data[at + 1:]


tap.equal(survives("cut off at every 97th byte", [("cut at %d" % at, BYTES[:at]) for at in range(1, len(BYTES) - 2, 97)]), 0,
          "and no part of a snapshot is taken for a whole one")
packed = gzip.compress(BYTES)
survives("packed and cut off", [("cut at %d" % at, packed[:at]) for at in range(1, len(packed), 97)])
generator = random.Random(SEED)
survives("a byte changed, seed %d" % SEED, [changed(generator, BYTES) for _ in range(400)])
survives("packed and a byte changed, seed %d" % SEED, [changed(generator, packed) for _ in range(50)])

# Wrong usage.
for arguments, wanted in (((), "no command"), (("frobnicate", "x"), 'there is no command "frobnicate"'), (("top",), "top: no file"),
                          (("top", "--by=size", GOOD), '--by: "size" is none of live peak total count temporary'),
                          (("top", "-n", "many", GOOD), '--rows: "many" is no number of rows'),
                          (("top", "--what=block+cheese", GOOD), '--what: "cheese" is none of'),
                          (("top", "--frobnicate", GOOD), "unrecognized option")):
    status, out, err = tap.report(*arguments)
    tap.ok(status == 2 and not out and wanted in err, "wrong usage: %s" % (" ".join(arguments[:2]) or "nothing"), err)
for arguments in ("top", GOOD), ("--help",), ("--help-conf",), ("--version",):
    with open("/dev/full", "w") as full:
        run = subprocess.run([tap.REPORT, *arguments], stdout=full, stderr=subprocess.PIPE)
    tap.equal((run.returncode, run.stderr), (2, b"gpushim-report: standard output: No space left on device\n"),
              "a full disk under the output of " + arguments[0])
tap.done()
