#!/usr/bin/env python3
"""Fail the Nth, in full: all likely errors of every function, in every scenario of tests/fault, under every setting and
schedule; see sweep.h. Hours of one processor; the pieces run side by side.

    full_sweep.py [--build DIR] [--jobs N] [--time SECONDS] [--only PATTERN] [--resume FILE]

A piece is named PROGRAM/SETTINGS/POLICY/SCENARIO, and --only takes a pattern of names as a shell does. When the time is
over, what has not ended is said to be unfinished. With --resume each part that ends well is noted in FILE, a line each, and
those that are found there are not run again: they count as they were. Ends with status 0 if all that ended found nothing wrong."""
import argparse
import concurrent.futures
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PUT_OFF = "graph:auto,graph_chunk:8,submit_deadline_us:0"
WAYS = [(settings, "late") for settings in ("backend:vmm", "expandable_segments:False", "free_sync:never",
                                            "submit:thread,submit_deadline_us:0", PUT_OFF, "backend:cudamalloc",
                                            "snapshot:off", "torch:serve", "torch:off", "backend:off")]
WAYS += [("backend:vmm", policy) for policy in ("in-order", "random", "starve", "priority")] + [(PUT_OFF, "random")]
# A scenario that leans on what a setting takes away cannot be the same as without the shim: of it only the other settings
# are run. This one frees memory while a copy of it to the host is under way, and reads the copy after the free.
LEANS_ON = {("rt_fault_memory", "copies"): "free_sync:never"}
PARTS = 8 # of a scenario with the shim


class Sweep:
    def __init__(self, options):
        self.build = os.path.realpath(options.build)
        self.until = time.monotonic() + options.time if options.time else float("inf")
        self.folder = tempfile.mkdtemp(prefix="sweep.")
        self.only = options.only
        self.lock = threading.Lock()
        self.faults = self.points = self.ended = self.wrong = 0
        self.unfinished = []
        self.book = options.resume
        self.noted = {} # by piece and part: faults, own points
        if self.book and os.path.exists(self.book):
            with open(self.book) as file:
                for line in file:
                    name, part, *figures = line.rstrip("\n").split("\t")
                    self.noted[name, int(part)] = [int(figure) for figure in figures]

    def run(self, program, policy, settings, arguments):
        """Output and status (None: no time) of a program of tests/fault; without the shim if settings is None."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(("SIM_", "GPUSHIM_", "LD_PRELOAD"))}
        command = [os.path.join(TOP, "scripts", "sim-run"), "--build", self.build, "--no-shim", "--policy", policy,
                   "--devices", "2" if program.startswith("drv_") else "1"]
        if settings is not None:
            folder = tempfile.mkdtemp(dir=self.folder)
            env["GPUSHIM_ALLOC_CONF"] = f"history:1000,stacks:off,device_time:0,snapshot_dir:{folder},{settings}"
            command += ["env", "LD_PRELOAD=" + os.path.join(self.build, "check", "libgpushim.so")]
        command += [os.path.join(self.build, "tests", "fault", program), *arguments]
        left = self.until - time.monotonic()
        try:
            done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=left if left < 1e9 else None, check=False)
            return done.stdout.decode(errors="replace"), done.returncode
        except (subprocess.TimeoutExpired, ValueError):
            return "", None
        finally:
            if settings is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def plain_path(self, program, policy, scenario):
        return os.path.join(self.folder, f"{program}.{policy}.{scenario.replace(' ', '_')}")

    def plain(self, program, policy, scenario):
        output, status = self.run(program, policy, None, ["plain", self.plain_path(program, policy, scenario), "full",
                                                          scenario])
        return None if status == 0 else output or "no time"

    def judge(self, piece, part):
        program, settings, policy, scenario = piece
        name = "/".join(piece)
        if (name, part) in self.noted:
            self.count(*self.noted[name, part], 0)
            return
        output, status = self.run(program, policy, settings, ["shim", self.plain_path(program, policy, scenario), "full",
                                                              scenario, f"{part}/{PARTS}"])
        result = re.search(r"(?m)^(not )?ok 1 - .*: (\d+) faults: .* (\d+) own points, .* (\d+) wrong$", output)
        if status is None:
            with self.lock:
                self.unfinished.append(name)
            return
        faults, points, wrong = (int(figure) for figure in result.groups()[1:]) if result else (0, 0, 1)
        if status != 0 or (result and result.group(1)):
            wrong = max(wrong, 1)
            print(f"WRONG {name} part {part}/{PARTS}, status {status}\n{output}", end="", flush=True)
        self.count(faults, points, wrong)
        if self.book and wrong == 0:
            with self.lock, open(self.book, "a") as file:
                file.write(f"{name}\t{part}\t{faults}\t{points}\n")

    def count(self, faults, points, wrong):
        with self.lock:
            self.ended += 1
            self.faults += faults
            self.points += points
            self.wrong += wrong

    def all_noted(self, pieces):
        return all(("/".join(piece), part) in self.noted for piece in pieces for part in range(PARTS))

    def all(self, jobs):
        """Plain runs first; what needs them follows as they end."""
        programs = sorted(os.path.basename(path) for path in glob.glob(self.build + "/tests/fault/*_fault_*")
                          if os.access(path, os.X_OK) and not path.endswith(".d"))
        waiting = {}
        for program in programs:
            for scenario in self.run(program, "late", None, ["list"])[0].splitlines():
                for settings, policy in WAYS:
                    if LEANS_ON.get((program, scenario)) == settings:
                        continue
                    piece = (program, settings, policy, scenario)
                    if fnmatch.fnmatchcase("/".join(piece), self.only):
                        waiting.setdefault((program, policy, scenario), []).append(piece)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            plains = {pool.submit(self.plain, *key): key for key, pieces in waiting.items() if not self.all_noted(pieces)}
            judged = [pool.submit(self.judge, piece, part) for pieces in waiting.values() if self.all_noted(pieces)
                      for piece in pieces for part in range(PARTS)]
            for plain in concurrent.futures.as_completed(plains):
                pieces, why = waiting[plains[plain]], plain.result()
                if why == "no time":
                    self.unfinished += ["/".join(piece) for piece in pieces]
                elif why is not None:
                    self.wrong += 1
                    print(f"WRONG {'/'.join(plains[plain])} without the shim\n{why}", flush=True)
                else:
                    judged += [pool.submit(self.judge, piece, part) for piece in pieces for part in range(PARTS)]
            for one in judged:
                one.result()
        return sum(len(pieces) for pieces in waiting.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=float, default=0, help="seconds; 0: until the end")
    parser.add_argument("--only", default="*")
    parser.add_argument("--resume", help="file of the parts that have ended")
    options = parser.parse_args()
    start = time.monotonic()
    sweep = Sweep(options)
    try:
        pieces = sweep.all(options.jobs)
    finally:
        shutil.rmtree(sweep.folder, ignore_errors=True)
    for name in sorted(set(sweep.unfinished)):
        print(f"unfinished: {name}")
    for (program, scenario), settings in LEANS_ON.items():
        print(f"left out: {program}/{settings}/{scenario}, which leans on what the setting takes away")
    print(f"full sweep: {pieces} pieces in {PARTS} parts each, {sweep.ended} parts ended, {sweep.faults} faults fired, "
          f"{sweep.points} own points, {sweep.wrong} wrong, {len(set(sweep.unfinished))} pieces unfinished; "
          f"{time.monotonic() - start:.0f} s, {options.jobs} at a time")
    return 1 if sweep.wrong or not sweep.faults else 0


if __name__ == "__main__":
    sys.exit(main())
