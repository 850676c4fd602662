#!/usr/bin/env python3
"""What all commands share: help with an example, files for the output, options that fit the command, completion."""

import glob
import gzip
import json
import os
import re
import shutil
import subprocess

import tap

torch = os.path.basename(tap.snapshot("torch", 32))
general = tap.report("--help")[1]
commands = re.findall(r"^  ([a-z]+)  ", general, re.M)
for command in commands:
    status, out, err = tap.report(command, "--help")
    tap.ok(status == 0 and not err and out.startswith("usage: gpushim-report %s " % command) and
           "\nexample: gpushim-report %s " % command in out and max(map(len, out.splitlines()[:-1])) <= 100,
           command + " --help: usage, width, an example", out + err)

# Options that a command does not take would do nothing.
status, out, err = tap.report("sync", "--by=live", torch)
tap.equal((status, out, err), (2, "", "gpushim-report: sync takes no --by; gpushim-report sync --help lists what it takes\n"),
          "an option of another command")

# Help, and mistakes: one line that says where to go on.
tap.equal((tap.report("help"), tap.report("help", "top")), (tap.report("--help"), tap.report("top", "--help")), "help COMMAND is COMMAND --help")
with open(tap.path_of("left.ring"), "wb") as file:
    file.write((0x676e6972736870).to_bytes(8, "little") + bytes(1 << 16))
for arguments, wanted in (
        (("summry", torch), 'there is no command "summry"; the nearest is "summary"; gpushim-report --help lists them'),
        (("top", "--colour", torch), "unrecognized option '--colour'; gpushim-report --help lists what there is"),
        (("top", "-x", torch), "unrecognized option '-x'; gpushim-report --help lists what there is"),
        (("top", torch, "--by"), "--by takes a value; gpushim-report --help lists what there is"),
        (("top", "--json=1", torch), "--json takes no value; gpushim-report --help lists what there is"),
        (("--help-conf=html",), '--help-conf: "html" is none of text markdown'),
        (("summary", "left.ring"), "left.ring: a ring file, as a killed process leaves it; gpushim-report recover makes a snapshot of it")):
    tap.equal(tap.report(*arguments), (2, "", "gpushim-report: %s\n" % wanted), "wrong: " + " ".join(arguments[:2]))
tap.ok("one file only: there is nothing to set beside it\n" in tap.report("merge", torch)[1], "merge of one file")
for command in "import", "symbolize":
    terminal, inner = os.openpty()
    run = subprocess.run([tap.REPORT, command, torch], cwd=tap.FOLDER.name, stdout=inner, stderr=subprocess.PIPE)
    tap.equal((run.returncode, run.stderr.decode()),
              (2, "gpushim-report: %s: a snapshot is nothing to read on a terminal: give it a name with -o\n" % command), command + " on a terminal")
    os.close(inner)
    os.close(terminal)

# Files.
plain = tap.report("top", torch)[1]


def read(name):
    with open(tap.path_of(name), "rb") as file:
        return file.read()


tap.equal(tap.report("top", "-o", "out.txt", torch), (0, "", ""), "-o prints nothing")
tap.equal(read("out.txt").decode(), plain, "-o FILE has what would be printed")
status, out, err = tap.report("summary", "-o", "out.txt", torch)
tap.equal((status, out, err, read("out.txt").decode()),
          (2, "", "gpushim-report: out.txt: there is such a file; -f replaces it\n", plain), "it is not overwritten")
tap.equal(tap.report("summary", "-f", "-o", "out.txt", torch), (0, "", ""), "but with -f")
tap.ok(b"held by gpushim" in read("out.txt"), "and has the new output")
tap.report("top", "-o", "out.txt.gz", torch)
tap.equal(gzip.decompress(read("out.txt.gz")).decode(), plain, ".gz is packed")
tap.report("top", "-o", "none.txt", "missing.json")
tap.equal(glob.glob(tap.path_of("none.txt*")), [], "what could not be read leaves no file")
status, out, err = tap.report("top", "-o", "no/such/folder.txt", torch)
tap.equal((status, out, err), (2, "", "gpushim-report: no/such/folder.txt: No such file or directory\n"), "a folder that is not there")
tap.equal(tap.report("top", "-o", "-", torch)[1], plain, "-o - is standard output")
tap.equal(tap.report("top", "-o", "/dev/stdout", torch)[1], plain, "a device is written in place")
tap.equal(tap.report("top", "-o", "/dev/full", torch)[0], 2, "a full disk under -o")
shutil.copy(tap.path_of(torch), tap.path_of("same.json"))
tap.equal(tap.report("top", "-f", "-o", "same.json", "same.json")[0], 2, "the input itself is not replaced")
tap.equal(glob.glob(tap.path_of("*.part*")), [], "no parts are left")
tap.equal(tap.report("top", "--color=always", "-o", "color.txt", torch)[0], 0, "colour can be asked for")
tap.report("top", "-o", "plain.txt", torch)
tap.ok(b"\x1b" in read("color.txt") and b"\x1b" not in read("plain.txt"), "in a file there is none otherwise")

# What was made from a file is for nobody for whom that file is not; what is replaced stays for whom it was.
def mode(name):
    return os.stat(tap.path_of(name)).st_mode & 0o777


os.umask(0o022)
shutil.copy(tap.path_of(torch), tap.path_of("own.json"))
os.chmod(tap.path_of("own.json"), 0o600)
tap.report("html", "own.json")
tap.report("export", "rows", "-o", "own.rows", "own.json")
tap.equal((mode("own.html"), mode("own.rows")), (0o600, 0o600), "a page and an export are for whom the snapshot is")
os.chmod(tap.path_of("own.rows"), 0o640)
tap.equal((tap.report("export", "rows", "-f", "-o", "own.rows", "own.json"), mode("own.rows")), ((0, "", ""), 0o640),
          "a file that is replaced keeps its mode")
tap.equal((tap.report("symbolize", "-f", "-o", "own.json", "own.json")[0], mode("own.json")), (0, 0o600), "a snapshot in its own place, too")
os.chmod(tap.path_of("own.json"), 0o644)
tap.report("html", "-f", "own.json", "-o", "wide.html")
tap.equal(mode("wide.html"), 0o644, "and of one that all may read all may")

# The share is of what the places are ordered by; what is not known is no zero.
for order, head in ("live", "LIVE"), ("peak", "AT PEAK"), ("total", "TOTAL"), ("count", "ALLOCS"):
    rows = tap.report("top", "--by", order, "-n", "0", torch)[1].splitlines()[2:]
    shares = [float(share) for row in rows for share in re.findall(r"([0-9.]+) %", row)]
    tap.ok(re.search(head + " +%", rows[0]) is not None and abs(sum(shares) - 100) < 1, "--by %s: its share" % order, "\n".join(rows))
nothing = os.path.basename(tap.snapshot("blocks", 0))
for command in "top", "summary":
    out = tap.report(command, nothing)[1]
    tap.ok(re.search(r" MiB +[0-9.]+ % +[0-9]+ +- +- +-  ", out) and "at the peak" not in out, command + " with history:0: the past is unknown", out)
with open(tap.path_of(torch)) as file:
    killed = json.load(file)
killed["meta"].update(reason="killed", settings={"history": 100})
with open(tap.path_of("killed.json"), "w") as file:
    json.dump(killed, file)
out = tap.report("summary", "killed.json")[1]
tap.ok("  unknown: what was held" in out and " allocations, " not in out and "never out of memory" not in out and "held by" not in out,
       "summary of what a killed process left says what is unknown", out)

# Units of limits: those of the settings, and of times.
killed["meta"]["settings"]["watch"] = True
with open(tap.path_of("units.json"), "w") as file:
    json.dump(killed, file)
for limit, status in (("live<=40M", 0), ("live<=40MB", 0), ("live<=40MiB", 0), ("live<=40960K", 0), ("live<=39.9MB", 1), ("live<=1T", 0), ("live>=41943040B", 0),
                      ("waits<=4000ms", 0), ("waits<=4000000us", 0), ("waits<=1ms", 1), ("waits<=1m", 2), ("live<=40MiBs", 2), ("live<=40X", 2)):
    got = tap.report("check", "-l", limit, "units.json")
    tap.equal(got[0], status, "check " + limit)

# What cannot be read is one line from every command, and leaves no file.
with open(tap.path_of("empty.json"), "w"):
    pass
os.makedirs(tap.path_of("folder"), exist_ok=True)
for command in commands:
    if command in ("live", "snapshot", "completion", "recover"):
        continue
    before = {"export": ["rows"], "check": ["-l", "live<1TiB"], "diff": [torch]}.get(command, [])
    for name, wanted in ("missing.json", "No such file or directory"), ("folder", "Is a directory"), ("empty.json", "the file is empty at byte 0"):
        output = [] if command == "html" else ["-o", "bad.out"]
        status, out, err = tap.report(command, *output, *before, name)
        tap.ok((status, out, err) == (2, "", "gpushim-report: %s: %s\n" % (name, wanted)) and not glob.glob(tap.path_of("bad.out*")),
               "%s of %s" % (command, name), err)

# Completion: each shell's own parser reads it, where that shell is here; elsewhere every quote of a line has its partner.
QUOTED = {"bash": r"'[^'\n]*'", "zsh": r"'[^'\n]*'", "fish": r"'(?:[^'\\\n]|\\.)*'"}
for shell in "bash", "zsh", "fish":
    status, script, err = tap.report("completion", shell)
    tap.equal((status, err, [command for command in commands if command not in script]), (0, "", []),
              "completion %s knows all commands" % shell)
    bare = [re.sub(r"\\'" if shell == "zsh" else "$^", "", re.sub(QUOTED[shell], "", line)) for line in script.splitlines()
            if not line.startswith("#")]
    tap.equal([line for line in bare if "'" in line], [], "completion %s: quotes come in pairs" % shell)
    if shutil.which(shell) is None:
        print("# %s is not here to read it" % shell)
        continue
    run = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
    tap.equal((run.returncode, run.stderr), (0, ""), shell + " reads it")


def completed(*words):
    script = tap.report("completion", "bash")[1]
    script += "\nCOMP_WORDS=(gpushim-report %s); COMP_CWORD=%d; _gpushim_report; echo ${COMPREPLY[*]}" % (
        " ".join("'%s'" % word for word in words), len(words))
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tap.FOLDER.name).stdout.split()


tap.equal(completed("su"), ["summary"], "bash completes commands")
tap.equal(completed("top", "--by", "t"), ["total", "temporary"], "values")
tap.equal(completed("top", "--gr"), ["--group"], "options of the command")
tap.equal(completed("sync", "--gr"), [], "and none of another one")
tap.equal(completed("top", "same"), ["same.json"], "files")
tap.equal(completed("completion", ""), ["bash", "zsh", "fish"], "words")
tap.equal(completed("export", "perf"), ["perfetto"], "formats")
status, out, err = tap.report("completion", "csh")
tap.equal((status, out, err), (2, "", 'gpushim-report: completion: "csh" is none of bash zsh fish\n'), "no other shell")
tap.done()
