"""Rows about submit:thread and graph:auto: programs bound by their launches compute the same under each setting, bit by bit, and how
much faster they are. All processes of a program are alive at once and run a few steps each by turns, so that whatever the machine
does hits all alike; least steps are compared, and the A/A control is a second one without the shim.

A row fails where results differ. What an aim of the project was missed by is said, and is no failure. Written without a GPU at hand."""

import json
import os
import subprocess
import sys

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.rows import row, side_by_side

THREAD, GRAPH = "submit:thread", "submit:thread,graph:auto"
SETTINGS = {
    "plain": {"shim": False},
    "control": {"shim": False},
    "default": {},
    "thread": {"conf": THREAD},
    "graph": {"conf": GRAPH},
}
NEVER_SLOWER = {"thread": 0.99, "graph": 0.99}
CORES = 6  # of the program and its threads, the shim's among them
ONE_GPU = {"CUDA_VISIBLE_DEVICES": "0"}


class Program:
    """name: in the table. steps: of a turn. aims: setting -> least times as fast as without the shim. repeats: two runs
    without the shim compute the same, or the row fails; where that is not sure, no verdict is given when they do not."""

    def __init__(self, name, command, steps, aims=None, repeats=True, environment=None):
        self.name, self.command, self.steps, self.repeats = name, command, steps, repeats
        self.environment = {**ONE_GPU, **(environment or {})}
        self.aims = {**NEVER_SLOWER, **(aims or {})}


def native(name, *words, steps=4, **named):
    command = [machine.built("gpu", words[0]), *words[1:], "--turns"]
    return Program(name, command, steps, environment=machine.libraries_found(), **named)


def python(name, script, *words, steps=2, **named):
    return Program(name, machine.script(script) + [*words, "--turns"], steps, **named)


LOOPS = [
    native("constant", "loops", "constant", aims={"graph": 2.8}),
    native("ping-pong", "loops", "ping-pong", aims={"graph": 2.8}),
    native("all-changing", "loops", "all-changing", aims={"graph": 2.0}),
    native("hand-graph", "loops", "hand-graph"),
    native("compute-bound", "loops", "compute-bound"),
    native("sync-every", "loops", "sync-every"),
]
OF_HAND_GRAPH = 0.95

DECODE = [
    python("tokens", "decode.py", "tokens", aims={"graph": 1.35}, repeats=False),
    python("exact", "decode.py", "tokens", "--exact"),
    python("cuda-graph", "decode.py", "cuda-graph", repeats=False),
]

TRAIN = [python("train", "train_small.py", "train", steps=8, aims={"graph": 1.2})]

TORCH_PROGRAMS = [
    python("prefill and decode", "decode.py", "prefill", steps=1, repeats=False),
    python("attention of varying length", "decode.py", "lengths", steps=1, repeats=False),
    python("training and evaluation", "train_small.py", "evaluate"),
    python("shape buckets", "train_small.py", "buckets"),
    python("gradient accumulation", "train_small.py", "accumulate"),
]

# --- what gpushim-report says of a run ----------------------------------------------------------------------------


def counts_of(rows, kind):
    return {entry["name"]: entry["count"] for entry in rows if entry["kind"] == kind}


def share_text(told):
    """What of the launches went as nodes of graphs, and why the rest did not, of `gpushim-report graph --json`."""
    figures, put_off = counts_of(told["graph"], "figure"), counts_of(told["submit"], "put_off")
    at_once, plain = counts_of(told["submit"], "at_once"), counts_of(told["graph"], "plain")
    every = put_off.get("launches", 0) + sum(at_once.values())
    if every == 0:
        return "nothing was put off"
    rest = sorted({**{f"{name} (at once)": count for name, count in at_once.items()}, **plain}.items(), key=lambda item: -item[1])
    return (
        f"graphs {figures.get('replayed', 0) / every:.1%} of {every} launches"
        + ("; rest " + ", ".join(f"{name} {count}" for name, count in rest[:3]) if rest else "")
    )


def told_by_report(folder):
    found = machine.exit_snapshots_in(folder)
    if not found:
        raise Failed("no snapshot: was gpushim in it?")
    command = [machine.built("gpushim-report"), "graph", "--json", found[0]]
    report = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if report.returncode not in (0, 1):
        raise Failed(f"gpushim-report cannot read the snapshot\n{report.stderr[-1000:]}")
    return json.loads(report.stdout)


# --- running and judging ------------------------------------------------------------------------------------------


class Outcome:
    """Of one program: setting -> seconds of all its steps, its result, what the report says of it, and how it broke, where it
    did. launches: in a step, where the program says that. absent: why it could not be run at all."""

    def __init__(self):
        self.seconds, self.results, self.told, self.problems = {}, {}, {}, {}
        self.launches, self.absent = 0, None

    def least(self, setting):
        return min(self.seconds[setting])

    def least_text(self, setting):
        if self.launches:
            return f"{self.least(setting) / self.launches * 1e9:.0f} ns a launch"
        return f"{self.least(setting) * 1e3:.3f} ms a step"

    def ran(self, *settings):
        return self.absent is None and not any(setting in self.problems for setting in settings)

    def times_as_fast(self, setting):
        """None: it did not run."""
        return self.least("plain") / self.least(setting) if self.ran("plain", setting) else None


class ByTurns:
    """The processes of a program, one for each setting. One that breaks is left out from there on."""

    def __init__(self, check, program):
        self.program, self.outcome, self.started = program, Outcome(), {}
        if not os.path.exists(program.command[0]):
            self.outcome.absent = "absent: not-built"
            return
        for setting, named in SETTINGS.items():
            self.started[setting] = check.workplace.start(program.command, environment=program.environment, **named)

    def left(self):
        return [setting for setting in self.started if self.outcome.ran(setting)]

    def attempt(self, setting, action):
        try:
            return action(self.started[setting])
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as failure:
            self.outcome.problems[setting] = str(failure)
        except Skipped as reason:
            self.outcome.absent = str(reason)
        return []

    def ready(self):
        cores = sorted(os.sched_getaffinity(0))[-CORES:]
        for setting in self.left():
            self.attempt(setting, lambda started: started.ready() or started.keep_on(cores))

    def measure(self, rounds, warm):
        for setting in self.left():
            self.outcome.seconds[setting] = []
            self.attempt(setting, lambda started: started.steps(warm))
        for number in range(rounds):
            left = self.left()
            for setting in left if number % 2 == 0 else left[::-1]:
                self.outcome.seconds[setting] += self.attempt(setting, lambda started: started.steps(self.program.steps))

    def end(self, setting):
        lines = self.started[setting].finish()
        if SETTINGS[setting].get("shim", True):
            self.outcome.told[setting] = told_by_report(self.started[setting].folder)
        return lines

    def finish(self):
        """They come to their ends side by side."""
        left = self.left()
        ends = side_by_side([lambda s=s: self.attempt(s, lambda _: self.end(s)) for s in left]) if left else []
        for setting, lines in zip(left, ends):
            self.outcome.results[setting] = [line for line in lines if line.startswith("ok ")]
            self.outcome.launches = next((int(line.split()[1]) for line in lines if line.startswith("launches ")), 0)

    def close(self):
        for started in self.started.values():
            started.close()


def run_programs(check, programs, rounds, warm=3):
    """Program -> Outcome. All are started before the first one is measured."""
    turns = []
    try:
        for program in programs:
            turns.append(ByTurns(check, program))
        for one in turns:
            one.ready()
        for one in turns:
            one.measure(rounds, warm)
            one.finish()
    finally:
        for one in turns:
            one.close()
    return {one.program: one.outcome for one in turns}


def problems_of(program, outcome):
    """What is wrong, and what there is to say of the results otherwise."""
    if outcome.absent is not None:
        return [], outcome.absent
    wrong = [f"{program.name}: {setting}: {text}" for setting, text in outcome.problems.items()]
    plain = outcome.results.get("plain")
    if not outcome.ran("plain", "control"):
        return wrong, "WRONG"
    if not plain:
        return wrong + [f"{program.name}: no result without the shim"], "WRONG"
    if outcome.results["control"] != plain:
        if program.repeats:
            wrong.append(f"{program.name}: the control failed: two runs without the shim differ")
        return wrong, "no verdict on the results: two runs without the shim differ"
    differing = [setting for setting, result in outcome.results.items() if outcome.ran(setting) and result != plain]
    if differing:
        wrong.append(f"{program.name}: {', '.join(differing)}: {outcome.results[differing[0]]} instead of {plain}")
    return wrong, "WRONG" if wrong else "same"


def speed(outcome, setting):
    ratio = outcome.times_as_fast(setting)
    return f"{ratio:.3f}x" if ratio else "-"


def missed(program, outcome):
    return [
        f"{program.name} {setting} {speed(outcome, setting)} instead of {aim}x"
        for setting, aim in program.aims.items()
        if (outcome.times_as_fast(setting) or aim) < aim
    ]


def text_of(program, outcome, remark):
    text = f"{program.name:13} {remark}"
    if outcome.ran("plain"):
        text += f"; plain {outcome.least_text('plain')} (A/A {speed(outcome, 'control')})"
        text += "".join(f", {setting} {speed(outcome, setting)}" for setting in ("default", "thread", "graph"))
    if "graph" in outcome.told:
        text += f"; {share_text(outcome.told['graph'])}"
    return text


def judged(outcomes, more_missed=()):
    """The text of a row; raises Failed where results differ or a program broke."""
    wrong, texts, below = [], [], list(more_missed)
    for program, outcome in outcomes.items():
        problems, remark = problems_of(program, outcome)
        wrong += problems
        texts.append(text_of(program, outcome, remark))
        below += missed(program, outcome)
    if all(outcome.absent is not None for outcome in outcomes.values()):
        raise Skipped("; ".join(texts))
    if below:
        texts.insert(0, "below the bar: " + "; ".join(below))
    if wrong:
        first = "; ".join(problem.split("\n")[0] for problem in wrong)
        raise Failed("\n".join([first, *texts, *(problem for problem in wrong if "\n" in problem)]))
    return "\n".join(texts)


def beside_hand_graph(outcomes):
    """The same launches, by a graph that the program makes itself."""
    by_name = {program.name: outcome for program, outcome in outcomes.items()}
    hand, constant = by_name["hand-graph"], by_name["constant"]
    if not hand.ran("plain") or not constant.ran("graph"):
        return []
    share = hand.least("plain") / constant.least("graph")
    text = f"constant under graph {share:.3f} of the hand-written graph"
    return [f"{text} instead of {OF_HAND_GRAPH}"] if share < OF_HAND_GRAPH else []


def not_slower_than_thread(outcomes):
    return [
        f"{program.name}: graph {ratio:.3f}x of the thread alone"
        for program, outcome in outcomes.items()
        if outcome.ran("thread", "graph") and (ratio := outcome.least("thread") / outcome.least("graph")) < 0.99
    ]


@row("replay-loops", 45, alone=True, group="replay")
def replay_loops(check):
    """Loops of tiny kernels in C."""
    outcomes = run_programs(check, LOOPS, rounds=12)
    return judged(outcomes, beside_hand_graph(outcomes))


@row("replay-decode", 60, alone=True, group="replay")
def replay_decode(check):
    """Eager decode with PyTorch, one token at a time; by deterministic algorithms; by the program's own graph."""
    outcomes = run_programs(check, DECODE, rounds=6)
    return judged(outcomes, not_slower_than_thread(outcomes))


@row("replay-train", 45, alone=True, group="replay")
def replay_train(check):
    """Training of a small model with dropout."""
    outcomes = run_programs(check, TRAIN, rounds=12, warm=12)
    return judged(outcomes, not_slower_than_thread(outcomes))


@row("replay-programs", 60, alone=True, group="replay")
def replay_programs(check):
    """More programs with PyTorch that are bound by their launches; those in C are in the row launch-bound."""
    return judged(run_programs(check, TORCH_PROGRAMS, rounds=6))


# --- two GPUs -----------------------------------------------------------------------------------------------------

NCCL_RUNS = {
    "plain": ([], {"shim": False}),
    "graph": ([], {"conf": GRAPH}),
    "graph, with stalls": (["--stalls"], {"conf": GRAPH + ",submit_deadline_us:0"}),
}


@row("replay-nccl", 150, alone=True, group="replay")
def replay_nccl(check):
    """Small kernels and sums over two GPUs, 10,000 times: the same result and no hang, also where gpushim's thread is kept from
    running at random."""
    if machine.device_count() < 2:
        raise Skipped("one GPU")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    results, texts = {}, []
    for name, (words, named) in NCCL_RUNS.items():
        run = check.run(launcher + machine.script("nccl_loop.py")[1:] + words, limit_s=120, **named)
        results[name] = sorted(run.lines("ok "))
        texts.append(f"{name} {run.seconds:.0f} s")
        if named.get("shim", True):
            texts[-1] += f" ({share_text(told_by_report(run.folder))})"
    wrong = [name for name, result in results.items() if len(result) != 2 or result != results["plain"]]
    if wrong:
        raise Failed(f"{', '.join(wrong)}: {results[wrong[0]]} instead of {results['plain']}\n" + "\n".join(texts))
    return "the same sums on both GPUs, no hang; " + "; ".join(texts)
