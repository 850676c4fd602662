#!/usr/bin/env python3
"""Names that would command a terminal, turn text round, end a line or be a formula: what every command prints stays harmless and
readable for programs. And output that cannot be written, or would replace what is read."""

import csv
import io
import json
import os
import unicodedata
import xml.etree.ElementTree as xml

import tap

NAMES = ["\x1b[31mred\x07\x1b]0;title\x07", "</script><script>alert(1)</script>", "=cmd|' /C calc'!A0", "a\nb\rc\td", "\u202egnp.exe\u202c",
         "\u2028x\u2029", "\u6f22\u5b57\u95a2\u6570", "\U0001f600 smile", "\u009b31mC1", "ns::" + "tpl<" * 300 + "int" + ">" * 300 + "::f()",
         "<" * 20000, "-2+3", "@SUM(1)", '"quoted", comma;semi', "<img src=x onerror=alert(1)>", "\u200bzero\ufeffwidth", "\ufffe\uffff",
         "&amp;${x}`", "__proto__", "\\u0041\\", "%s%n%d", "a" * 5000, "\x7f\u2066\u061c\u2060"]


def hostile(source, target, also_types):
    with open(source, encoding="utf-8") as file:
        snapshot = json.load(file)
    first = len(snapshot["strings"])
    snapshot["strings"] += NAMES
    frames = snapshot["frames"]
    for frame in range(1, len(frames["kind"])):
        frames["kind"][frame] = frames["kind_names"].index("python")
        frames["function"][frame] = first + frame % len(NAMES)
        frames["file"][frame] = first + (frame + 1) % len(NAMES)
    for table, column in ("kernels", "name"), ("launches", "name"), ("waits", "function"), ("loops", "name"):
        rows = snapshot.get(table, {}).get(column, [])
        rows[:] = [first + row % len(NAMES) for row in range(len(rows))]
    for number, device in enumerate(snapshot["devices"]):
        device["name"], device["uuid"] = NAMES[0] + NAMES[1], "GPU-%d\"\\\n" % number + NAMES[0]
    snapshot["meta"].update(hostname=NAMES[0], command=NAMES, executable=NAMES[1], conf=NAMES[0], version=NAMES[0], reason=NAMES[8])
    for number, thread in enumerate(snapshot["threads"]):
        thread["name"] = NAMES[number % len(NAMES)]
    for function in snapshot["functions"]:
        function["name"] = NAMES[0] + function["name"]
    if also_types:
        snapshot["events"]["type_names"] = [name + ("" if name in ("alloc", "free") else ',"x\n') for name in snapshot["events"]["type_names"]]
    with open(tap.path_of(target), "w", encoding="utf-8") as file:
        json.dump(snapshot, file)
    return target


def harm(text):
    return sorted({"U+%04X" % ord(c) for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Zl", "Zp") or
                                                                     (unicodedata.category(c) == "Cf" and c not in "\u200c\u200d"))})


def all_json(text):
    try:
        return [json.loads(line) for line in text.split("\n")[:-1]] or None
    except ValueError:
        return None


FILES = [hostile(tap.snapshot("torch", 32), "torch.json", False), hostile(tap.snapshot("blocks", 21, 7), "blocks.json", True)]
ONE = ["summary", "top", "leaks", "frag", "timeline", "sync", "launch", "graph"]
for name in FILES:
    wrong = {}
    commands = [(command, *more, name) for command in ONE for more in ((), ("--json",))]
    commands += [("top", "-n", "0", "-g", group, *more, name) for group in
                 ("line", "stack", "function", "class", "category", "stream", "thread", "size") for more in ((), ("--json",))]
    commands += [("diff", *FILES), ("diff", "--json", *FILES), ("merge", *FILES), ("merge", "--json", *FILES),
                 ("check", "-l", "peak<1", name), ("check", "--json", "-l", "peak<1", name), ("timeline", "--svg", "-g", "line", name)]
    commands += [("export", form, name) for form in ("folded", "chrome", "speedscope", "rows")]
    for command in commands:
        status, out, err = tap.report(*command)
        if status not in (0, 1) or err or harm(out):
            wrong[command] = (status, err[:200], harm(out))
        if "--json" in command and all_json(out) is None:
            wrong[command] = "no JSON: " + out[:300]
    tap.equal(wrong, {}, name + ": nothing that commands a terminal gets out")
    lines = tap.report("export", "heaptrack", name)[1].split("\n")
    tap.equal([line[:99] for line in lines if line[:2] not in ("v ", "X ", "I ", "s ", "i ", "t ", "a ", "+ ", "- ", "c ", "")], [],
              name + ": heaptrack: no name ends a line")
    picture = xml.fromstring(tap.report("timeline", "--svg", "-g", "line", name)[1])
    tap.ok(picture.tag.endswith("svg"), name + ": the picture is XML")
    rows = list(csv.DictReader(io.StringIO(tap.report("export", "rows-csv", name)[1], newline="")))
    plain = [json.loads(line) for line in tap.report("export", "rows", name)[1].split("\n")[:-1]]
    tap.equal([row["line"].lstrip("'") for row in rows], [row["line"] for row in plain], name + ": rows-csv has the lines of rows")
    tap.equal([row["type"] for row in rows], [row["type"] for row in plain], name + ": and their types")
    tap.ok(not any(cell.startswith(tuple("=+-@\t\r")) for row in rows for cell in row.values()), name + ": no cell is a formula")

# Tables are straight, whatever the letters: the last column begins where its head does.
rules = tap.path_of("rules.txt")
with open(rules, "w", encoding="utf-8") as file:
    file.write("\u6f22\u5b57 python *\n")
out = tap.report("top", "-n", "0", "-g", "category", "--categories", rules, FILES[0])[1].split("\n")
at = next(line for line in out if line.endswith("CATEGORY")).index("CATEGORY")
tap.ok(any(line[at - 2 : at] == "  " and line[at:] == "\u6f22\u5b57" for line in out), "a table with letters of several bytes is straight", out)

# Headings go on in the next line, as other lines do.
long = os.path.basename(tap.snapshot("blocks", 21))
with open(tap.path_of(long), encoding="utf-8") as file:
    snapshot = json.load(file)
snapshot["meta"]["command"] = ["python"] + ["--option-%d=value" % number for number in range(12)]
with open(tap.path_of("long.json"), "w", encoding="utf-8") as file:
    json.dump(snapshot, file)
for command in ONE:
    tap.ok(max(map(len, tap.report(command, "long.json")[1].split("\n"))) <= 100, command + ": a long command line fits the terminal")

# Output.
source = os.path.basename(tap.snapshot("blocks", 21))
with open(tap.path_of(source), "rb") as file:
    before = file.read()
os.link(tap.path_of(source), tap.path_of("linked.json"))
for command in (("top",), ("html",), ("export", "rows"), ("import",), ("diff", "long.json")):
    for output in source, "linked.json", "./" + source:
        status, out, err = tap.report(*command, "-f", "-o", output, source)
        with open(tap.path_of(source), "rb") as file:
            kept = file.read() == before
        tap.ok(status == 2 and kept and err == "gpushim-report: %s: is also what is to be read: give another name\n" % output,
               "%s does not replace what it reads: -o %s" % (" ".join(command), output), err)
status, out, err = tap.report("top", "-o", "/dev/full", source)
tap.equal((status, err), (2, "gpushim-report: /dev/full: No space left on device\n"), "a full disk is named")
tap.ok(tap.report("check", "-l", "waits<nans", source)[0] == tap.report("check", "-l", "waits<infs", source)[0] == 2,
       "a limit that is no number is refused")

# With names of its own, a snapshot says the same as with those of the files: lines of one function stay apart.
real = tap.real("real.json", "tests/preload/rt_demo")
tap.report("symbolize", "-o", "named.json", real)
for command in (("summary",), ("top", "-n", "0"), ("top", "-n", "0", "-g", "function"), ("top", "-g", "stack"), ("sync", "-n", "0"),
                ("launch",), ("export", "folded"), ("frag",)):
    tap.equal(tap.report(*command, "named.json")[1].replace("named.json", real), tap.report(*command, real)[1],
              " ".join(command) + ": the same after symbolize")
status, out, err = tap.report("symbolize", "-f", "-o", "named.json", "named.json")
tap.ok(status == 0 and " 0 native frames have got names" in err, "symbolize may be done in place", err)
tap.done()
