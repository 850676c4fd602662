"""The rows of scripts/gpu-check about snapshots: do they tell the truth about memory, and what does recording cost."""

import glob
import json
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


def report(command, path, statuses=(0,)):
    """What gpushim-report says in JSON, and its status."""
    tool = [machine.built("gpushim-report"), command, "--json", path]
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


def out_of_memory(check, case, conf):
    run = script_run(check, ["oom_train.py", case], conf)
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
    if "serve" not in conf:
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
    run = check.run([sys.executable, walk, probe], shim=False)
    wrong = run.lines("not ok")
    if wrong or not run.lines("compared "):
        raise Failed("; ".join(wrong) or "did not reach its end\n" + run.output)
    version = ".".join(map(str, sys.version_info[:3]))
    return f"CPython {version}: {len(run.lines('ok '))} scenarios, {run.lines('compared ')[0]} stacks, all equal"


# --- cost ---------------------------------------------------------------------------------------------------------

PLAIN = {"shim": False}


def least_by_turns(check, program, settings, order, key):
    """Setting -> the figures of its runs. Settings: name -> (words for the program, named arguments of the run)."""
    figures = {name: [] for name in settings}
    for name in order:
        words, named = settings[name]
        figures[name].append(last_json(check.run(machine.script(program[0]) + program[1:] + words, **named))[key])
    return figures


def step_cost(check, program, limit):
    """Default settings against plain by turns (ABBA); the two halves of the plain runs are the A/A control. PyTorch's
    own recording for comparison."""
    settings = {
        "plain": ([], PLAIN),
        "default": ([], {}),
        "torch python": (["--history", "python"], PLAIN),
        "torch all": (["--history", "all"], PLAIN),
    }
    order = ["plain", "default", "default", "plain"] * 3 + ["torch python", "torch all", "torch all", "torch python"]
    figures = least_by_turns(check, ["steps.py", program], settings, order, "ms_tenth")
    least = {name: min(runs) for name, runs in figures.items()}
    control = min(figures["plain"][::2]) / min(figures["plain"][1::2]) - 1
    cost = least["default"] / least["plain"] - 1
    medians = statistics.median(figures["default"]) / statistics.median(figures["plain"]) - 1
    text = (
        f"plain {least['plain']:.2f} ms; default {cost:+.2%} (medians {medians:+.2%}, A/A {control:+.2%}); "
        + ", ".join(f"{name} {least[name] / least['plain'] - 1:+.2%}" for name in ("torch python", "torch all"))
    )
    if cost > limit + abs(control):
        raise Failed(f"{text}: more than {limit:.0%}")
    return text


@row("cost-training", 130, alone=True)
def cost_training(check):
    return step_cost(check, "large", 0.01)


@row("cost-decode", 130, alone=True)
def cost_decode(check):
    return step_cost(check, "decode", 0.03)


@row("cost-events", 80, alone=True)
def cost_events(check):
    """Nanoseconds that an event adds; a tensor that is made and dropped is two events, and the first has a stack."""
    ours = {
        "lean": LEAN,
        "no stacks": "stacks:off",
        "python": "stacks:python",
        "default": "",
        "native each": "stacks:all",
    }
    settings = {"plain": ([], PLAIN), **{name: ([], {"conf": conf}) for name, conf in ours.items()}}
    for kind in ("python", "all"):
        settings[f"torch {kind}"] = (["--history", kind], PLAIN)
    order = list(settings) + list(settings)[::-1]
    figures = least_by_turns(check, ["event_cost.py"], settings, order, "ns_least")
    least = {name: min(runs) for name, runs in figures.items()}
    events = {name: (ns - least["plain"]) / 2 for name, ns in least.items()}
    captures = {
        "Python stack": least["python"] - least["no stacks"],
        "with native, by call site": least["default"] - least["no stacks"],
        "with native, each": least["native each"] - least["no stacks"],
    }
    text = (
        f"a pair plain {least['plain']:.0f} ns (A/A {figures['plain'][1] - figures['plain'][0]:+.0f}); an event: "
        + ", ".join(f"{name} {ns:+.0f}" for name, ns in events.items() if name != "plain")
        + "; a stack: "
        + ", ".join(f"{name} {ns:.0f}" for name, ns in captures.items())
    )
    if events["python"] > 150 or events["default"] > 500:
        raise Failed(f"{text}: more than 150 with Python stacks or 500 with native ones")
    return text


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
    run = script_run(check, ["history_dump.py", str(DUMP_EVENTS + 50000)], f"history:{DUMP_EVENTS}")
    told = last_json(run)
    size = os.path.getsize(told["snapshot"])
    kept = len(Snapshot(told["snapshot"]).data["events"]["type"])
    compare([("events", kept, DUMP_EVENTS)])
    seconds, peak = summary_cost(told["snapshot"])
    text = (
        f"{kept} events: written in {min(told['seconds']):.2f} s, {size / 1e6:.1f} MB ({size / kept:.1f} bytes an event); "
        f"summary {seconds:.2f} s, {peak / size:.2f}x the file in memory"
    )
    if (
        min(told["seconds"]) > DUMP_LIMIT_S
        or size > DUMP_LIMIT_BYTES
        or seconds > SUMMARY_LIMIT_S
        or peak > SUMMARY_LIMIT_FILES * size
    ):
        raise Failed(f"{text}: more than {DUMP_LIMIT_S} s, {DUMP_LIMIT_BYTES / 1e6:.0f} MB, {SUMMARY_LIMIT_S} s or 3x")
    return text
