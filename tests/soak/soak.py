#!/usr/bin/env python3
"""Runs random programs (tests/soak/main.c) with and without gpushim, under many settings and schedules.

A seed is a program. It runs without gpushim in order, which is what it has to print; without gpushim under another
policy, which shows that the program is valid; and with gpushim under settings, policies, sizes of device memory and
driver versions that the seed draws. Everything printed and every status has to be the same. A difference is printed as
one command line that shows it again, then with the settings that matter and a shortened list of operations.
"""
import argparse
import concurrent.futures
import difflib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

# Every setting of shim/core/conf.def, with values to try, or in LEFT_OUT; the first value is the default.
SETTINGS = {
    "torch": ["observe", "serve", "off"],
    "backend": ["vmm", "cudamalloc", "off"],
    "expandable_segments": ["True", "False"],
    "max_split_size_mb": ["0", "1", "20"],
    "roundup_power2_divisions": ["0", "1", "8"],
    "garbage_collection_threshold": ["0", "0.5"],
    "per_process_memory_fraction": ["1", "0.9", "0.1"],
    "large_segment_size_mb": ["20", "2", "64"],
    "memory_limit": ["0", "64M", "8M"],
    "purge_ms": ["10000", "0", "1"],
    "free_sync": ["auto", "always", "never"],
    "lanes": ["auto", "on", "off"],
    "pinned_cache": ["True", "False"],
    "pinned_limit": ["0", "1M"],
    "ipc": ["vmm", "legacy"],
    "snapshot": ["exit+oom+error", "off", "exit"],
    "history": ["100000", "0", "10"],
    "launches": ["16384", "0", "4"],
    "stacks": ["python+native", "off", "native", "all"],
    "watch": ["True", "False"],
    "hazards": ["off", "on", "sampled"],
    "graph": ["off", "auto"],
    "graph_chunk": ["64", "8"],
    "graph_cache_mb": ["256", "1"],
    "submit": ["direct", "thread"],
    "submit_deadline_us": ["50", "0"],
    "log": ["warn", "error", "info", "debug"],
    "paths": ["full", "relative", "hash"],
}
LEFT_OUT = {"device_time", "snapshot_dir", "categories", "status", "strict"}
SIM = {
    "policy": ["late", "in-order", "random", "starve", "priority"],
    "memory": ["1G", "64M", "24M"],
    "driver": ["13000", "12040"],
    "shim": ["release", "check"],
}
SMALL = {("memory", "64M"), ("memory", "24M"), ("memory_limit", "64M"), ("memory_limit", "8M"),
         ("per_process_memory_fraction", "0.1")}
ENDINGS = {0, 3, 4}


class Run:
    """One way to run a program: without gpushim when settings is None."""

    def __init__(self, settings, sim):
        self.settings, self.sim = settings, sim

    def small(self):
        return any(pair in SMALL for pair in list((self.settings or {}).items()) + list(self.sim.items()))

    def relaxed(self):
        return (self.settings or {}).get("free_sync") == "never"

    def pairs(self):
        values = sorted(self.sim.items() - {("seed", self.sim.get("seed"))}) + [
            (key, (self.settings or {}).get(key, choices[0])) for key, choices in SETTINGS.items()]
        return itertools.combinations(sorted(values), 2)

    def arguments(self):
        sim = ",".join(f"{key}={value}" for key, value in self.sim.items())
        if self.settings is None:
            return f"--no-shim --sim '{sim}'"
        conf = ",".join(f"{key}:{value}" for key, value in self.settings.items())
        return f"--conf '{conf}' --sim '{sim}'"


class Result:
    def __init__(self, status, out, err, broken):
        self.status, self.out, self.err, self.broken = status, out, err, broken
        found = re.search(r"^program: (\d+) operations, (\d+) times", err, re.M)
        self.operations = int(found[1]) if found else 0


class Soak:
    def __init__(self, options):
        self.options = options
        self.build = os.path.realpath(options.build)
        self.program = options.program or os.path.join(self.build, "tests", "soak", "program")
        self.shims = {"release": options.shim or os.path.join(self.build, "libgpushim.so"),
                      "check": options.shim or os.path.join(self.build, "check", "libgpushim.so")}
        self.lock = threading.Lock()
        self.runs = self.operations = self.seeds = self.failures = 0
        self.pairs = set()
        self.started = time.monotonic()
        for path in (self.program, *self.shims.values(), os.path.join(self.build, "sim", "libcuda.so.1")):
            if not os.path.exists(path):
                sys.exit(f"soak: no {path}; run make")

    def execute(self, seed, run, skip="", small=None, relaxed=None, trace=False):
        folder = tempfile.mkdtemp(prefix="soak.")
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("SIM_", "SHADOW_", "GPUSHIM_", "PYTORCH_", "PROGRAM_", "LD_PRELOAD"))}
        if "SIM_STATS" in os.environ:
            env["SIM_STATS"] = os.environ["SIM_STATS"]
        sim = os.path.join(self.build, "sim")
        env.update(LD_LIBRARY_PATH=f"{os.path.join(sim, run.sim['driver'])}:{sim}", SIM_POLICY=run.sim["policy"],
                   SIM_SEED=run.sim["seed"], SIM_MEMORY=run.sim["memory"], SIM_DRIVER_VERSION=run.sim["driver"],
                   SIM_DEVICES="2" if seed % 4 == 0 else "1")
        # A launch that is put off may reach the driver when the program has freed its memory already: in order all the
        # same, as the contents show, but the shadow takes it for one that comes too late. Of odd seeds all is handed to the
        # driver first (tests/preload/shadow.h); the others go without the shadow.
        settings = run.settings or {}
        if settings.get("submit") == "thread" or settings.get("graph") == "auto":
            env.update({"SHADOW_HANDED": "1"} if seed % 2 else {"SIM_SHADOW": "off"})
        for name, on in (("PROGRAM_SMALL", run.small() if small is None else small),
                         ("PROGRAM_RELAXED", run.relaxed() if relaxed is None else relaxed),
                         ("PROGRAM_TRACE", trace), ("PROGRAM_SKIP", skip)):
            if on:
                env[name] = on if isinstance(on, str) else "1"
        if run.settings is not None:
            env["LD_PRELOAD"] = self.shims[run.sim["shim"]]
            env["GPUSHIM_ALLOC_CONF"] = ",".join(f"{key}:{value}" for key, value in run.settings.items()) + ",device_time:0"
        try:
            done = subprocess.run([self.program, str(seed)], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=self.options.timeout, check=False)
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            status, out, err = "timeout", late.stdout or b"", late.stderr or b""
        broken = self.torn_snapshots(folder)
        shutil.rmtree(folder)
        result = Result(status, out.decode(errors="replace"), err.decode(errors="replace"), broken)
        with self.lock:
            self.runs += 1
            self.operations += result.operations
        return result

    @staticmethod
    def torn_snapshots(folder):
        broken = []
        for name in os.listdir(folder):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    if "schema" not in json.load(file):
                        broken.append(name)
            except (ValueError, OSError):
                broken.append(name)
        return broken

    def reference(self, seed, run, skip=""):
        plain = Run(None, {"policy": "in-order", "seed": "1", "memory": "1G", "driver": "13000"})
        return self.execute(seed, plain, skip, run.small(), run.relaxed())

    @staticmethod
    def difference(result, reference):
        """What is wrong, in a few lines; empty when nothing is."""
        said = [line for line in result.err.splitlines()
                if line.startswith("gpushim-sim:") or "assert" in line.lower() or "from LD_PRELOAD" in line]
        if said:
            return said[:3]
        if reference.status not in ENDINGS:
            return [f"the reference ends with status {reference.status}",
                    (reference.out.splitlines() or [""])[-1]] + reference.err.splitlines()[:3]
        if result.out != reference.out:
            lines = list(difflib.unified_diff(reference.out.splitlines(), result.out.splitlines(),
                                              "without", "with", n=1, lineterm=""))
            return lines[2:9] + ([f"status {result.status}"] if result.status != reference.status else [])
        if result.status != reference.status:
            return [f"status {result.status}, not {reference.status}"] + result.err.splitlines()[-3:]
        if result.broken:
            return [f"snapshots that cannot be read: {' '.join(result.broken)}"]
        return []

    def draw_runs(self, seed):
        generator = random.Random(seed)

        def sim():
            return {"policy": generator.choice(SIM["policy"]), "seed": str(generator.randrange(1 << 30)),
                    "memory": generator.choice(SIM["memory"] + ["1G"]), "driver": generator.choice(SIM["driver"]),
                    "shim": generator.choice(SIM["shim"])}

        yield Run(None, dict(sim(), policy=generator.choice(SIM["policy"][2:])))
        yield Run({}, dict(sim(), memory="1G"))
        for _ in range(self.options.runs - 1):
            yield Run({key: generator.choice(choices[1:]) for key, choices in SETTINGS.items()
                       if generator.random() < 0.4}, sim())

    def seed_run(self, seed):
        """True when the seed holds."""
        references = {}
        for run in self.draw_runs(seed):
            if self.late():
                return True
            key = (run.small(), run.relaxed())
            if key not in references:
                references[key] = self.reference(seed, run)
            wrong = self.difference(self.execute(seed, run), references[key])
            if run.settings is not None:
                with self.lock:
                    self.pairs.update(run.pairs())
            if wrong:
                self.report(seed, run, wrong)
                return False
        with self.lock:
            self.seeds += 1
        return True

    def late(self):
        return self.options.time and time.monotonic() - self.started > self.options.time

    # --- Making a failure small

    def fails(self, seed, run, skip):
        reference = self.reference(seed, run, skip)
        if reference.status not in ENDINGS:
            return []
        return self.difference(self.execute(seed, run, skip), reference)

    def shorten(self, seed, run, until):
        count = self.reference(seed, run).operations
        kept = list(range(count))

        def skip_of(numbers):
            wanted, parts, at = set(numbers), [], 0
            while at < count:
                end = at
                while end < count and end not in wanted:
                    end += 1
                if end > at:
                    parts.append(str(at) if end == at + 1 else f"{at}-{end - 1}")
                at = end + 1
            return ",".join(parts)

        size = max(1, count // 2)
        while size and time.monotonic() < until:
            at, shorter = 0, False
            while at < len(kept) and time.monotonic() < until:
                fewer = kept[:at] + kept[at + size:]
                if self.fails(seed, run, skip_of(fewer)):
                    kept, shorter = fewer, True
                else:
                    at += size
            if not shorter or size > 1:
                size //= 2
        return skip_of(kept)

    def fewer_settings(self, seed, run, skip, until):
        for key in list(run.settings or {}):
            fewer = Run({k: v for k, v in run.settings.items() if k != key}, run.sim)
            if time.monotonic() < until and self.fails(seed, fewer, skip):
                run = fewer
        return run

    def again(self, seed, run, skip=""):
        skip = f" --skip {skip}" if skip else ""
        return f"tests/soak/soak.py --seed {seed} {run.arguments()}{skip}"

    def report(self, seed, run, wrong):
        lines = [f"FAIL seed {seed}: {self.again(seed, run)}"] + [f"  {line}" for line in wrong]
        with self.lock:
            self.failures += 1
            first = self.failures == 1
        if self.options.shrink and first:
            until = time.monotonic() + self.options.shrink
            small = self.fewer_settings(seed, run, "", until)
            skip = self.shorten(seed, small, until)
            small = self.fewer_settings(seed, small, skip, until)
            lines.append(f"  shorter: {self.again(seed, small, skip)}")
            lines += [f"  {line}" for line in self.fails(seed, small, skip)]
            lines.append("  which is:")
            lines += [f"    {line}" for line in self.reference(seed, small, skip).out.splitlines()[:60]]
        with self.lock:
            print("\n".join(lines), flush=True)

    # --- From the command line

    def loop(self):
        first, rounds = self.options.seed, self.options.rounds
        failed = threading.Event()

        def one(seed):
            if failed.is_set() and self.options.stop or self.late():
                return
            if not self.seed_run(seed):
                failed.set()

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, range(first, first + rounds)))
        took = time.monotonic() - self.started
        dimensions = [len(values) for values in list(SETTINGS.values()) + list(SIM.values())]
        possible = sum(a * b for a, b in itertools.combinations(dimensions, 2))
        print(f"soak: {self.seeds} seeds held, {self.failures} failed; {self.runs} runs, {self.operations} operations, "
              f"{len(self.pairs)} of {possible} pairs of settings; {took:.0f} s, {self.runs / took:.1f} runs a second")
        return 1 if self.failures else 0

    def single(self, run):
        seed, skip = self.options.seed, self.options.skip
        reference = self.reference(seed, run, skip)
        result = self.execute(seed, run, skip)
        wrong = self.difference(result, reference)
        if self.options.verbose:
            print(result.out + result.err, end="")
        if wrong and not skip and self.options.shrink:
            self.report(seed, run, wrong)
        else:
            print("\n".join(wrong) if wrong else "the same")
        return 1 if wrong else 0


def pairs_of(text, between):
    return dict(pair.split(between, 1) for pair in text.split(",") if pair)


def check_settings():
    with open(os.path.join(TOP, "shim", "core", "conf.def"), encoding="utf-8") as file:
        known = set(re.findall(r"^GS_CONF_[A-Z0-9]+\((\w+),", file.read(), re.M))
    wrong = known ^ (set(SETTINGS) | LEFT_OUT)
    if wrong:
        print(f"soak: not in step with shim/core/conf.def: {' '.join(sorted(wrong))}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the first, or the only one with --conf or --no-shim")
    parser.add_argument("--rounds", type=int, default=1, help="number of seeds")
    parser.add_argument("--runs", type=int, default=6, help="runs with gpushim for each seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time", type=float, default=0, help="seconds after which no run begins")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    parser.add_argument("--shrink", type=float, default=40, help="seconds to make the first failure small; 0: do not")
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--shim", help="another libgpushim.so, in place of both builds")
    parser.add_argument("--program", help="another program")
    parser.add_argument("--conf", help="these settings: one run, compared")
    parser.add_argument("--no-shim", action="store_true", help="one run without gpushim, compared")
    parser.add_argument("--sim", default="", help="policy=,seed=,memory=,driver=,shim= for that run")
    parser.add_argument("--skip", default="", help="operations to leave out of that run")
    parser.add_argument("--verbose", action="store_true", help="what that run prints")
    parser.add_argument("--check-settings", action="store_true", help="that every setting is tried or left out on purpose")
    options = parser.parse_args()
    if options.check_settings:
        return check_settings()
    soak = Soak(options)
    if options.conf is None and not options.no_shim:
        return soak.loop()
    sim = {"policy": "late", "seed": "1", "memory": "1G", "driver": "13000", "shim": "release"}
    sim.update(pairs_of(options.sim, "="))
    return soak.single(Run(None if options.no_shim else pairs_of(options.conf, ":"), sim))


if __name__ == "__main__":
    sys.exit(main())
