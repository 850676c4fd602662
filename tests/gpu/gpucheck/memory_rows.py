"""The rows of scripts/gpu-check about snapshots: do they tell the truth about memory, and what does recording cost."""

import glob
import json
import math
import os
import statistics
import subprocess
import sys
import time

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.rows import LEAN, compare, row
from gpucheck.snapshot import Snapshot

# Shares by which a class of memory may differ from the truth.
CLASS_LIMITS = {"parameters": 0.01, "gradients": 0.01, "optimizer": 0.01, "activations": 0.05}

DUMP_EVENTS, DUMP_LIMIT_S, DUMP_LIMIT_BYTES, SUMMARY_LIMIT_S, SUMMARY_LIMIT_FILES = 1000000, 1.0, 65000000, 1.0, 3.0


def report(command, path, statuses=(0,), options=()):
    """What gpushim-report says in JSON, and its status."""
    tool = [machine.built("gpushim-report"), command, "--json", *options, path]
    run = subprocess.run(tool, capture_output=True, text=True, timeout=60)
    if run.returncode not in statuses:
        raise Failed(f"gpushim-report {command} ended with {run.returncode}\n{run.stdout[:2000]}{run.stderr}")
    return json.loads(run.stdout), run.returncode


def last_json(run):
    return json.loads(run.lines("{")[-1])


def script_run(check, words, conf="", **named):
    return check.run(machine.script(words[0]) + list(words[1:]), conf=conf, **named)


def gib(size_bytes):
    return f"{size_bytes / 2**30:.2f} GiB"


# --- out of memory ------------------------------------------------------------------------------------------------


def out_of_memory(check, case, conf, torch_conf=""):
    environment = {"PYTORCH_ALLOC_CONF": torch_conf} if torch_conf else None
    run = script_run(check, ["oom_train.py", case], conf, environment=environment)
    truth = last_json(run)
    paths = glob.glob(os.path.join(run.folder, "*.oom.json"))
    if len(paths) != 1:
        raise Failed(f"{len(paths)} snapshots at out-of-memory instead of 1\n{run.output}")
    snapshot = Snapshot(paths[0])
    live = snapshot.live_blocks("async") if "serve" in conf else snapshot.live("tensor")
    compare([("bytes live", sum(live.values()), truth["live_bytes"])])
    if truth["live_count"]:
        compare([("tensors live", len(live), truth["live_count"])])
    line = f"oom_train.py:{truth['line']} in "
    top = report("top", paths[0])[0]["rows"][0]
    summary = report("summary", paths[0])[0]
    asked = summary["out_of_memory"] or {"name": "nobody", "size_bytes": 0}
    for what, name in (("the top line", top["name"]), ("what asked", asked["name"])):
        if line not in name:
            raise Failed(f"{what} is {name}, not {line}")
    text = (
        f"{gib(truth['live_bytes'])} live as memory_allocated() says; {line.split()[0]} asked for "
        f"{gib(asked['size_bytes'])}, holds {gib(top['live_bytes'])}"
    )
    if "serve" not in conf and not torch_conf:
        compare([("bytes reserved", summary["pytorch"]["held_bytes"], truth["reserved_bytes"])])
        text += f"; {gib(summary['pytorch']['cached_bytes'])} cached by PyTorch, {truth['retries']} retries"
    return text


@row("oom-observe", 20, alone=True)
def oom_observe(check):
    """The batches before the last one leave a cache that PyTorch gives back when the device is full: failures that it
    recovers from are no out-of-memory."""
    return out_of_memory(check, "plain", "")


@row("oom-fragmented", 20, alone=True)
def oom_fragmented(check):
    return out_of_memory(check, "fragmented", "")


@row("oom-expandable", 20, alone=True)
def oom_expandable(check):
    """PyTorch's expandable segments, which ask for handles of 20 MiB."""
    return out_of_memory(check, "plain", "", "expandable_segments:True")


@row("oom-serve", 20, alone=True)
def oom_serve(check):
    return "; fragmented: ".join(out_of_memory(check, case, "torch:serve") for case in ("plain", "fragmented"))


# --- leaks and classes --------------------------------------------------------------------------------------------


@row("leaks", 20)
def leaks(check):
    texts = []
    for conf in ("", "torch:serve"):
        truth = last_json(script_run(check, ["leak_loop.py", "leak"], conf))
        found, status = report("leaks", truth["snapshot"], (0, 1))
        names = [leak["name"] for leak in found["rows"]]
        if status != 1 or len(names) != 1 or f"leak_loop.py:{truth['line']} in " not in names[0]:
            raise Failed(f"{conf or 'observe'}: line {truth['line']} leaks; named: {names}, status {status}")
        count = found["rows"][0]["live_count"]
        compare([("kept", count, truth["kept"]), ("bytes", found["rows"][0]["live_bytes"], count * truth["kept_bytes"])])
        texts.append(f"{names[0]} kept {count}")
    truth = last_json(script_run(check, ["leak_loop.py", "clean"]))
    found, status = report("leaks", truth["snapshot"], (0, 1))
    if status != 0:
        raise Failed(f"nothing leaks; named: {[leak['name'] for leak in found['rows']]}")
    return "; ".join(texts) + "; none where there is none"


def backward_share(path):
    """Of the bytes that autograd's threads hold, the share that has a line of the program's forward pass."""
    rows = [row for row in report("top", path, options=("-g", "stack", "-n", "0"))[0]["rows"] if row["thread"].startswith("pt_autograd")]
    known = sum(row["live_bytes"] for row in rows if "memory_classes.py:" in row["name"] and len(row["stack"]) > 5)
    return known / max(sum(row["live_bytes"] for row in rows), 1)


def classes(check, conf):
    run = script_run(check, ["memory_classes.py"], conf)
    texts, wrong = [], []
    for truth in map(json.loads, run.lines("{")):
        found = report("summary", truth["snapshot"])[0]["categories"]
        for name, limit in CLASS_LIMITS.items():
            ours, theirs = found.get(name, {"live_bytes": 0})["live_bytes"], truth[name]
            share = ours / theirs - 1 if theirs else 0
            text = f"{name} {ours / 1e6:.1f} MB ({share:+.2%})"
            if theirs:
                texts.append(text)
            # What there is none of may still show a trace: a loss, a workspace.
            if abs(share) > limit or (not theirs and ours > 0.01 * truth["live_bytes"]):
                wrong.append(f"after {truth['moment']}: {text} instead of {theirs / 1e6:.1f}")
        if truth["moment"] == "backward":
            share = backward_share(truth["snapshot"])
            texts.append(f"{share:.1%} of the gradients have their forward line")
            if share < 0.9:
                wrong.append(texts[-1])
    if wrong:
        raise Failed("; ".join(wrong) + "\n" + "; ".join(texts))
    return "; ".join(texts)


@row("classes-observe", 25)
def classes_observe(check):
    return classes(check, "")


@row("classes-serve", 25)
def classes_serve(check):
    return classes(check, "torch:serve")


# --- Python stacks ------------------------------------------------------------------------------------------------


@row("python-stacks", 15)
def python_stacks(check):
    """The stacks that are read without the GIL, against the interpreter's own, on the Python of this machine."""
    probe = machine.built("tests", "stack", "libstackprobe.so")
    if not os.path.exists(probe):
        raise Skipped(f"no {probe}")
    walk = os.path.join(machine.ROOT, "tests", "stack", "walk.py")
    room = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}  # as in tests/stack/test_stack_python.py
    run = check.run([sys.executable, walk, probe], shim=False, environment=room)
    wrong = run.lines("not ok")
    if wrong or not run.lines("compared "):
        raise Failed("; ".join(wrong) or "did not reach its end\n" + run.output)
    version = ".".join(map(str, sys.version_info[:3]))
    return f"CPython {version}: {len(run.lines('ok '))} scenarios, {run.lines('compared ')[0]} stacks, all equal"


# --- cost ---------------------------------------------------------------------------------------------------------

PLAIN = {"shim": False}
DEFAULT = {}
TORCH = {f"torch {kind}": (["--history", kind], PLAIN) for kind in ("python", "all")}
# Several processes of each kind that is compared: what differs between those that do the same is the noise. Words for
# the program, named arguments of its start.
STARTS = 3
STEP_SETTINGS = {
    **{f"plain {start}": ([], PLAIN) for start in range(STARTS)},
    **{f"default {start}": ([], DEFAULT) for start in range(STARTS)},
    "torch all": TORCH["torch all"],
}
EVENT_SETTINGS = {
    "plain": ([], PLAIN),
    "default": ([], DEFAULT),
    "plain again": ([], PLAIN),
    "default again": ([], DEFAULT),
    "lean": ([], {"conf": LEAN}),
    "no stacks": ([], {"conf": "stacks:off"}),
    "python": ([], {"conf": "stacks:python"}),
    "native each": ([], {"conf": "stacks:all"}),
    **TORCH,
}


class ByTurns:
    """A program under several settings, all alive at once and, while they are measured, on the same few cores: they run a
    few steps each by turns, so that whatever the machine does hits all alike."""

    CORES = 4  # a training step has a second thread, for the backward pass

    def __init__(self, check, words, settings):
        self.programs = {}
        for name, (more, named) in settings.items():
            self.programs[name] = check.workplace.start(machine.script(words[0]) + words[1:] + more, **named)

    def measure(self, rounds, steps, warm):
        """Setting -> median over rounds of the least step of a turn, in seconds; and of its ratio to the first one's."""
        cores = sorted(os.sched_getaffinity(0))[-self.CORES :]
        for program in self.programs.values():
            program.ready()
            program.steps(warm)
            program.keep_on(cores)
        turns = {name: [] for name in self.programs}
        for number in range(rounds):
            names = list(self.programs)
            for name in names if number % 2 == 0 else names[::-1]:
                turns[name].append(min(self.programs[name].steps(steps)))
        least = {name: statistics.median(seconds) for name, seconds in turns.items()}
        first = next(iter(turns.values()))
        ratios = {
            name: statistics.median(ours / theirs for ours, theirs in zip(seconds, first))
            for name, seconds in turns.items()
        }
        return least, ratios

    def close(self):
        for program in self.programs.values():
            program.close()


def step_text(least, ratios):
    """Cost as a share of the step, its noise, and both as text. The noise is that of a mean of so many starts."""
    plain, default = ([ratios[f"{kind} {start}"] for start in range(STARTS)] for kind in ("plain", "default"))
    middle = statistics.mean(plain)
    cost = statistics.mean(default) / middle - 1
    noise = math.hypot(statistics.stdev(plain), statistics.stdev(default)) / math.sqrt(STARTS)
    return cost, noise, (
        f"plain {least['plain 0'] * 1e3:.2f} ms; default {cost:+.2%} +- {noise:.2%} ({STARTS} starts of each; plain ones "
        f"differ by {max(plain) - min(plain):.2%}, default ones by {max(default) - min(default):.2%}); "
        f"torch all {ratios['torch all'] / middle - 1:+.2%}"
    )


def event_text(least):
    """A tensor that is made and dropped is two events, of which the first has a stack."""
    plain = min(least["plain"], least["plain again"])
    pairs = {name: (seconds - plain) / PAIRS * 1e9 for name, seconds in least.items()}
    pairs["default"] = min(pairs["default"], pairs.pop("default again"))
    stacks = {
        "Python": pairs["python"] - pairs["no stacks"],
        "with native by call site": pairs["default"] - pairs["no stacks"],
        "with native each": pairs["native each"] - pairs["no stacks"],
    }
    control = abs(least["plain"] - least["plain again"]) / PAIRS * 1e9
    return pairs, (
        f"a pair plain {plain / PAIRS * 1e9:.0f} ns (A/A {control:.0f}); an event: "
        + ", ".join(f"{name} {ns / 2:+.0f}" for name, ns in pairs.items() if not name.startswith("plain"))
        + "; a stack: "
        + ", ".join(f"{name} {ns:.0f}" for name, ns in stacks.items())
    )


PAIRS = 2000  # of event_cost.py


@row("cost", 75, alone=True)
def cost(check):
    """What the default settings add to a training step (limit 1 %) and to eager decode (3 %), and what an event costs
    with Python stacks (150 ns) and with native ones (500 ns), beside PyTorch's own recording."""
    started = []
    try:
        for words, settings in (
            (["event_cost.py"], EVENT_SETTINGS),
            (["steps.py", "decode", "--turns"], STEP_SETTINGS),
            (["steps.py", "large", "--turns"], STEP_SETTINGS),
        ):
            started.append(ByTurns(check, words, settings))
        events, decode, training = started
        pairs, text = event_text(events.measure(30, 2, 40)[0])
        wrong = ["events"] if pairs["python"] / 2 > 150 or pairs["native each"] / 2 > 500 else []
        texts = [f"events    {text}"]
        for name, turns, limit in (("decode", decode, 0.03), ("training", training, 0.01)):
            share, noise, text = step_text(*turns.measure(12, 3, 6))
            texts.append(f"{name:9} {text}")
            if share > limit + noise:
                wrong.append(name)
    finally:
        for turns in started:
            turns.close()
    if wrong:
        raise Failed(f"{', '.join(wrong)}: more than allowed\n" + "\n".join(texts))
    return "\n".join(texts)


def summary_cost(path):
    """Seconds and peak bytes of gpushim-report summary, the least of three runs."""
    seconds, peak = [], []
    for _ in range(3):
        start = time.perf_counter()
        with subprocess.Popen([machine.built("gpushim-report"), "summary", path], stdout=subprocess.DEVNULL) as tool:
            _, status, usage = os.wait4(tool.pid, 0)
            tool.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(time.perf_counter() - start)
        peak.append(usage.ru_maxrss * 1024)
        if tool.returncode != 0:
            raise Failed(f"gpushim-report summary ended with {tool.returncode}")
    return min(seconds), min(peak)


@row("dump", 60, alone=True)
def dump(check):
    run = script_run(check, ["history_dump.py", str(DUMP_EVENTS + 100000)], f"history:{DUMP_EVENTS}")
    told = last_json(run)
    size = os.path.getsize(told["snapshot"])
    # Before the snapshot is read here: a program's peak begins with that of the process that starts it.
    seconds, peak = summary_cost(told["snapshot"])
    kept = len(Snapshot(told["snapshot"]).data["events"]["type"])
    if kept < DUMP_EVENTS:
        raise Failed(f"{kept} events instead of {DUMP_EVENTS}")
    more = kept / DUMP_EVENTS
    text = (
        f"{kept} events: written in {min(told['seconds']):.2f} s, {size / 1e6:.1f} MB ({size / kept:.1f} bytes an event); "
        f"summary {seconds:.2f} s, {peak / size:.2f}x the file in memory"
    )
    if (
        min(told["seconds"]) > DUMP_LIMIT_S * more
        or size > DUMP_LIMIT_BYTES * more
        or seconds > SUMMARY_LIMIT_S * more
        or peak > SUMMARY_LIMIT_FILES * size
    ):
        raise Failed(f"{text}: more than {DUMP_LIMIT_S} s, {DUMP_LIMIT_BYTES / 1e6:.0f} MB, {SUMMARY_LIMIT_S} s or 3x")
    return text
