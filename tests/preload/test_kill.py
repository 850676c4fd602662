#!/usr/bin/env python3
# timeout 300
"""snapshot:kill: what a process leaves that is killed at any moment, and what becomes of a file that was damaged. TAP."""

import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.environ["TOP"]
BUILD = os.environ["BUILD"]
sys.path.insert(0, os.path.join(TOP, "tests/report"))
from json_schema import check

REPORT = os.path.join(BUILD, "gpushim-report")
PROGRAM = os.path.join(BUILD, "tests/preload/rt_kill")
SIZES = {"blocks": [1234567, 2345678, 3456789], "live": [456789]}
KILLS, DAMAGES = 5, 30
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))

with open(os.path.join(TOP, "report/schema.json")) as file:
    SCHEMA = json.load(file)

count = failed = 0


def ok(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    if not good:
        print("# SEED=%d" % SEED)
        for line in str(why).splitlines()[:20]:
            print("# " + line)


def start(folder, conf, *words):
    command = [os.path.join(TOP, "scripts/sim-run"), "--build", BUILD, PROGRAM, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "GPUSHIM_ALLOC_CONF": conf}, start_new_session=True)


def recover(path, *options):
    """Status and the name of the snapshot; a crash is a negative status."""
    run = subprocess.run([REPORT, "recover", *options, path], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout.strip(), run.stderr


def what_is_wrong(path):
    """Of a recovered snapshot; None."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    wrong = check(data, SCHEMA, SCHEMA)
    if wrong:
        return wrong
    for table, sizes in SIZES.items():
        missing = [size for size in sizes if size not in data[table]["size_bytes"]]
        if missing:
            return "%s lacks %s" % (table, missing)
    blocks = data["blocks"]["address"]
    if len(set(blocks)) != len(blocks):
        return "blocks at one address"
    if len(blocks) > 3 + 3 * 30 + 3:
        return "%d blocks live" % len(blocks)
    if data["meta"]["reason"] != "killed" or len(data["events"]["type"]) < 4:
        return "reason %s, %d events" % (data["meta"]["reason"], len(data["events"]["type"]))
    held = [data["blocks"]["stack"][data["blocks"]["size_bytes"].index(size)] for size in SIZES["blocks"]]
    if 0 in held or len(set(held)) != 3:
        return "stacks of the three blocks: %s" % held
    run = subprocess.run([REPORT, "top", path], capture_output=True, text=True)
    if run.returncode != 0 or "rt_kill" not in run.stdout:
        return run.stdout + run.stderr
    return None


def killed(folder, conf, seconds):
    process = start(folder, conf)
    if process.stdout.readline() != "ready\n":
        raise SystemExit("rt_kill did not start: " + process.stderr.read())
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return glob.glob(os.path.join(folder, "gpushim.*.ring"))


def kills(choose):
    for number in range(KILLS):
        with tempfile.TemporaryDirectory() as folder:
            found = killed(folder, "snapshot:exit+kill,history:%d" % (1 << choose.randrange(6, 16)), choose.random() * 0.4)
            if len(found) != 1:
                ok(False, "kill %d leaves one file" % number, found)
                continue
            mode = os.stat(found[0]).st_mode & 0o777
            status, name, said = recover(found[0])
            wrong = what_is_wrong(name) if status == 0 else said
            ok(status == 0 and not wrong and mode == 0o600 and name == found[0][:-5] + ".killed.json",
               "kill %d: all that was alive is there, by stack" % number, (status, name, wrong, oct(mode)))
            if number == 0:
                elsewhere(found[0], name)


def elsewhere(path, name):
    """Where it goes."""
    with open(name, "rb") as file:
        snapshot = file.read()
    status, _, said = recover(path)
    ok(status == 2 and said == "gpushim-report: %s: there is such a file; -f replaces it\n" % name, "one that is there stays", said)
    with open(name, "w", encoding="utf-8") as file:
        file.write("spoilt")
    status, again, _ = recover(path, "-f")
    with open(name, "rb") as file:
        ok((status, again, file.read()) == (0, name, snapshot), "-f replaces it", again)
    other = path + ".other"
    status, said, _ = recover(path, "-o", other)
    with open(other, "rb") as file:
        ok((status, said, file.read()) == (0, "", snapshot), "-o names another", said)
    ok(os.stat(name).st_mode & 0o777 == 0o600 and not [entry for entry in os.listdir(os.path.dirname(path)) if ".part" in entry],
       "for the owner alone, and nothing is left behind")


def damaged(choose):
    """Flips bits where the file has something, and cuts it."""
    with tempfile.TemporaryDirectory() as folder:
        path = killed(folder, "snapshot:kill,history:500", 0.1)[0]
        size = os.path.getsize(path)
        crashed, good, refused = [], 0, 0
        for number in range(DAMAGES):
            places = [choose.randrange(choose.choice((200, 9000, 60000, 5 << 20, size))) for _ in range(choose.randrange(1, 9))]
            with open(path, "r+b") as file:
                before = []
                for place in places:
                    file.seek(place)
                    before.append(file.read(1))
                    file.seek(place)
                    file.write(bytes([before[-1][0] ^ 1 << choose.randrange(8)]))
            status, name, said = recover(path)
            if status == 0:
                run = subprocess.run([REPORT, "summary", name], capture_output=True, text=True)
                status = run.returncode
                said = run.stderr
                os.unlink(name)
                good += 1
            else:
                refused += 1
            if status not in (0, 2) or (status == 2 and said.count("\n") != 1) or (status == 2 and name):
                crashed.append((places, status, said))
            with open(path, "r+b") as file:
                for place, byte in reversed(list(zip(places, before))):
                    file.seek(place)
                    file.write(byte)
        ok(not crashed, "%d damaged files: whole or refused in one line" % DAMAGES, crashed[:3])
        print("# %d read, %d refused" % (good, refused))
        os.truncate(path, size - 4096)
        status, _, said = recover(path)
        ok(status == 2 and "not whole" in said, "a cut file is refused", (status, said))
        os.truncate(path, 100)
        ok(recover(path)[0] == 2, "a very short one too")
        os.truncate(path, 0)
        ok(recover(path)[0] == 2, "an empty one too")
        ok(recover(os.path.join(folder, "none.ring"))[0] == 2, "one that is not there")


def ends():
    with tempfile.TemporaryDirectory() as folder:
        start(folder, "snapshot:exit+kill", "50").communicate()
        ok(sorted(name.split(".", 2)[2] for name in os.listdir(folder)) == ["json"],
           "a process that ends well leaves its snapshot alone", os.listdir(folder))
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, "snapshot:exit,history:100", "50")
        process.communicate()
        ok(not glob.glob(folder + "/*.ring"), "without the setting there is no such file", os.listdir(folder))
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, "snapshot:kill,snapshot_dir:no/where", "20")
        _, said = process.communicate()
        ok(process.returncode == 0 and said.count("snapshot:kill has no effect") == 1,
           "where there is no room for it, one line", said)
    with tempfile.TemporaryDirectory() as folder:
        found = killed(folder, "snapshot:kill,paths:hash", 0.05)
        with open(found[0], "rb") as file:
            ok(folder.encode() not in file.read(), "paths:hash holds in the file as well")


random_ = random.Random(SEED)
kills(random_)
damaged(random_)
ends()
print("1..%d" % count)
sys.exit(failed > 0)
