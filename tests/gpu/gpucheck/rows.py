"""The rows of scripts/gpu-check. A row is a function that returns its figures as one short line, or raises Failed.

Correctness rows run side by side, so they share runs of the same program (see Check.once); rows marked alone=True want
the whole machine: they time something, or fill the device."""

import concurrent.futures
import glob
import json
import os
import re
import statistics
import subprocess
import threading
import time

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.snapshot import Snapshot

LEAN = "stacks:off,history:0,watch:off"

# What counts as a launch, an allocation or a free at the driver level.
COUNTED = re.compile(
    r"cu(Launch(Kernel(Ex)?|CooperativeKernel(MultiDevice)?|Grid(Async)?)?|GraphLaunch"
    r"|Mem(Alloc|AllocHost|HostAlloc|AllocManaged|AllocPitch|AllocAsync|AllocFromPoolAsync|Create"
    r"|Free|FreeHost|FreeAsync|Release))(_v\d)?(_pts[zd])?"
)

ROWS = {}


class Row:
    def __init__(self, name, function, seconds, alone, shares, group=None):
        self.name = name
        self.function = function
        self.seconds = seconds
        self.alone = alone
        self.shares = shares
        self.group = group


def row(name, seconds, alone=False, shares=None, group=None):
    """Registers a row. seconds is a rough estimate, for --part; shares names the row whose runs it looks at. Rows of a
    group run only where the group, or the row, is asked for by name."""

    def register(function):
        ROWS[name] = Row(name, function, seconds, alone, shares, group)
        return function

    return register


class Check:
    """What the rows of one gpu-check share: the workplace, runs that several rows look at, the time when no more is
    begun, and what rows have for other tables than the one of gpu-check: of each row, its part of the JSON file."""

    def __init__(self, within_s=float("inf")):
        self.end = time.monotonic() + within_s
        self.more = {}
        self.workplace = machine.Workplace()
        self.run = self.workplace.run
        self.lock = threading.Lock()
        self.futures = {}

    def late(self):
        return time.monotonic() > self.end

    def once(self, key, function):
        """function(), once per key whoever asks first; a failure is the same failure for all who ask."""
        with self.lock:
            mine = key not in self.futures
            future = self.futures.setdefault(key, concurrent.futures.Future())
        if mine:
            try:
                future.set_result(function())
            except Exception as failure:
                future.set_exception(failure)
        return future.result()


def side_by_side(functions):
    """The results of functions run in parallel, in order."""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        return [future.result() for future in [pool.submit(function) for function in functions]]


# --- PyTorch: losses and tensors ---------------------------------------------------------------------------------

TRANSFORMER = {
    "plain A": {"shim": False},
    "plain B": {"shim": False},
    "observe": {},
    "serve": {"conf": "torch:serve"},
}


def transformer(check, setting):
    """The run, and PyTorch's own figures at its end."""

    def start():
        run = check.run(machine.script("transformer.py") + ["--sum", "sum"], **TRANSFORMER[setting])
        with open(os.path.join(run.folder, "sum"), encoding="utf-8") as file:
            return run, json.load(file)

    return check.once(("transformer", setting), start)


def requested_snapshot(check, setting):
    _, figures = transformer(check, setting)
    if not figures["snapshot"]:
        raise Failed("the program did not find gpushim_snapshot")
    return figures["snapshot"]


@row("losses", 60)
def losses(check):
    settings = list(TRANSFORMER)
    runs = side_by_side([lambda s=s: transformer(check, s)[0] for s in settings])
    steps = {setting: run.lines("step ") for setting, run in zip(settings, runs)}
    if len(steps["plain A"]) != 30:
        raise Failed(f"{len(steps['plain A'])} losses instead of 30")
    if steps["plain A"] != steps["plain B"]:
        raise Failed("the control failed: two plain runs differ")
    for setting in ("observe", "serve"):
        differing = [a for a, b in zip(steps["plain A"], steps[setting]) if a != b]
        if steps[setting] != steps["plain A"]:
            raise Failed(f"{setting} differs from plain in {len(differing)} steps, first: {differing[:1]}")
    for setting, run in zip(settings[2:], runs[2:]):
        if len(run.exit_snapshots()) != 1:
            raise Failed(f"{setting}: {len(run.exit_snapshots())} exit snapshots instead of 1")
        Snapshot(run.exit_snapshots()[0])
    last = float.fromhex(steps["plain A"][-1].split()[-1])
    return f"30 losses bit-identical in plain A, plain B, observe, serve; last {last:.4f}"


@row("pluggable", 40)
def pluggable(check):
    """gpushim as PyTorch's CUDAPluggableAllocator: the same losses, and gpushim_stats knows each byte."""
    run = check.run(machine.script("allocators.py") + ["pluggable", machine.SHIM])
    steps = run.lines("step ")
    if steps != transformer(check, "plain A")[0].lines("step ") or len(steps) != 30:
        raise Failed("the losses differ from those of PyTorch's own allocator")
    figures = json.loads(run.lines("{")[-1])
    return f"30 losses bit-identical; {figures['allocations']} allocations, {figures['allocated'] / 2**20:.1f} MiB seen exactly"


@row("figures-serve", 15)
def figures_serve(check):
    """torch.cuda.memory_allocated and its kin under torch:serve."""
    figures = json.loads(check.run(machine.script("allocators.py") + ["figures"], conf="torch:serve").lines("{")[-1])
    return ", ".join(f"{name} {size / 2**20:.1f}" for name, size in figures.items()) + " MiB"


def compare(pairs):
    """(what, ours, PyTorch's) must be equal."""
    wrong = [f"{what} {ours} instead of {theirs}" for what, ours, theirs in pairs if ours != theirs]
    if wrong:
        raise Failed("; ".join(wrong))


@row("tensors-observe", 5, shares="losses")
def tensors_observe(check):
    _, torch = transformer(check, "observe")
    snapshot = Snapshot(requested_snapshot(check, "observe"))
    tensors = snapshot.live("tensor")
    compare(
        [
            ("tensors seen", snapshot.live_ever("tensor"), torch["allocations"]),
            ("tensors live", len(tensors), torch["live_count"]),
            ("bytes live", sum(tensors.values()), torch["live_bytes"]),
            ("storages missing", len({int(a, 16) for a in torch["storages"]} - tensors.keys()), 0),
        ]
    )
    return f"{torch['allocations']} tensors seen, {len(tensors)} live, {torch['live_bytes']} bytes: as PyTorch says"


@row("tensors-serve", 5, shares="losses")
def tensors_serve(check):
    _, plain = transformer(check, "plain A")
    _, torch = transformer(check, "serve")
    snapshot = Snapshot(requested_snapshot(check, "serve"))
    blocks = snapshot.live_blocks("async")
    calls = snapshot.runtime_calls()
    asked = calls.get("cudaMallocAsync", 0) + calls.get("cudaMallocFromPoolAsync", 0)
    if torch["backend"] != "cudaMallocAsync":
        raise Failed(f"PyTorch's backend is {torch['backend']}")
    compare(
        [
            ("tensors asked for", asked, plain["allocations"]),
            ("tensors live", len(blocks), plain["live_count"]),
            ("bytes live", sum(blocks.values()), plain["requested_bytes"]),
            ("storages missing", len({int(a, 16) for a in torch["storages"]} - blocks.keys()), 0),
        ]
    )
    served = snapshot.counter("allocs")
    if served < asked:
        raise Failed(f"{served} allocations served of {asked}")
    return (
        f"{asked} tensors served, {len(blocks)} live, {sum(blocks.values())} bytes: as PyTorch's own allocator says; "
        f"memory_allocated() {torch['live_bytes']}"
    )


@row("top-lines", 5, shares="losses")
def top_lines(check):
    found = []
    for setting in ("observe", "serve"):
        snapshot = requested_snapshot(check, setting)
        top = subprocess.run(
            [machine.built("gpushim-report"), "top", snapshot], capture_output=True, text=True, timeout=60
        )
        lines = sorted(set(re.findall(r"transformer\.py:(\d+)", top.stdout)), key=int)
        if top.returncode != 0 or not lines:
            raise Failed(f"{setting}: no line of transformer.py in gpushim-report top\n{top.stdout}{top.stderr}")
        found.append(f"{setting} {','.join(lines[:6])}")
    return "transformer.py lines named: " + "; ".join(found)


# --- PyTorch: features --------------------------------------------------------------------------------------------

OBSERVED = [
    "compile_reduce_overhead",
    "record_memory_history",
    "mem_pool",
    "cuda_graph",
    "tensor_to_process",
    "profiler",
]


def try_feature(check, name):
    """None, or what went wrong; says so when it goes wrong without the shim as well."""
    try:
        check.run(machine.script("features.py") + [name])
    except Failed as failure:
        try:
            check.run(machine.script("features.py") + [name], shim=False)
        except Failed:
            return f"{name} fails without the shim too\n{failure}"
        return f"{name}\n{failure}"
    return None


@row("features-observe", 90)
def features_observe(check):
    problems = [problem for problem in side_by_side([lambda n=n: try_feature(check, n) for n in OBSERVED]) if problem]
    if problems:
        raise Failed("; ".join(problem.split("\n")[0] for problem in problems) + "\n" + "\n".join(problems))
    return f"{len(OBSERVED)} work: {', '.join(OBSERVED)}"


@row("give-back", 30, alone=True)
def give_back(check):
    return check.run(machine.script("features.py") + ["give_back"]).lines("asked")[0]


# --- findings -----------------------------------------------------------------------------------------------------


@row("labelled", 120, alone=True)
def labelled(check):
    """Programs whose lines say which waits must be found there, and that nothing else is called a problem."""
    run = check.run(machine.script("labelled.py"), shim=False, good=(0, 1))
    if run.status != 0:
        raise Failed(run.output.splitlines()[-1] + "\n" + run.output)
    return run.output.splitlines()[-1]


# --- two GPUs -----------------------------------------------------------------------------------------------------

TWO_DEVICES = ["peer", "wrong_device", "processes", "all_reduce"]


def try_two_devices(check, name, conf):
    """None, or what went wrong; Skipped where there is one GPU."""
    command = machine.script("two_devices.py") + [name]
    if name == "all_reduce":
        command = command[:1] + ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] + command[1:]
    try:
        run = check.run(command, conf=conf, environment={**machine.libraries_found(), "NCCL_NVLS_ENABLE": "0"}, good=(0, 77))
    except Failed as failure:
        return f"{name} with {conf}: {failure}"
    if run.status == 77 or "one GPU" in run.output:
        raise Skipped("one GPU")
    return None


@row("two-devices", 90, alone=True)
def two_devices(check):
    """One GPU's memory used by the other, under both ways to serve PyTorch. Tensors of torch:serve are not shared between
    processes: PyTorch refuses that under the allocator which it asks for."""
    if machine.device_count() < 2:
        raise Skipped("one GPU")
    cases = [(name, conf) for conf in ("torch:observe", "torch:serve") for name in TWO_DEVICES]
    cases.remove(("processes", "torch:serve"))
    problems = [problem for problem in (try_two_devices(check, *case) for case in cases) if problem]
    if problems:
        raise Failed(f"{len(problems)} of {len(cases)} cases\n" + "\n".join(problems))
    return f"{len(cases)} cases hold: {', '.join(TWO_DEVICES)} under torch:observe and torch:serve"


# --- counts against CUPTI -----------------------------------------------------------------------------------------

COUNTED_PROGRAMS = {
    "static": [machine.built("gpu", "vec_static")],
    "shared": [machine.built("gpu", "vec_shared")],
    "ptds": [machine.built("gpu", "vec_ptds")],
    "driver": [machine.built("gpu", "drv_api")],
    "cublas": [machine.built("gpu", "cublas_gemm")],
    "cublaslt": [machine.built("gpu", "compat", "cublaslt")],
    "cufft": [machine.built("gpu", "compat", "cufft")],
    "cusolver": [machine.built("gpu", "compat", "cusolver")],
    "nvrtc": [machine.built("gpu", "compat", "nvrtc")],
    "torch": machine.script("transformer.py"),
    "triton": machine.script("triton_kernel.py"),
    "cupy": machine.script("cupy_script.py"),
    "jax": machine.script("jax_script.py"),
}


def counted(calls):
    return {name: count for name, count in calls.items() if COUNTED.fullmatch(name) and count}


def add(totals, calls):
    for name, count in calls.items():
        totals[name] = totals.get(name, 0) + count
    return totals


def totals_by_cupti(check, command, environment, shim=False):
    """What libcupti_counter.so counted in all processes of the command."""
    run = check.run(
        command,
        shim=shim,
        environment={
            **environment,
            "CUDA_INJECTION64_PATH": machine.built("gpu", "libcupti_counter.so"),
            "CUPTI_LIB": machine.find_library("libcupti.so.13"),
            "CUPTI_COUNTER_OUT": ".",
        },
    )
    files = [path for path in glob.glob(os.path.join(run.folder, "*.json")) if os.path.basename(path)[0].isdigit()]
    totals = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            add(totals, json.load(file))
    if not counted(totals):
        raise Failed(f"CUPTI counted nothing\n{run.output}")
    return totals


def counts_by_cupti(check, command, environment, shim=False):
    totals = totals_by_cupti(check, command, environment, shim)
    return counted(totals), totals.get("kernels", 0)


def counts_by_shim(check, command, environment):
    run = check.run(command, environment=environment)
    if not run.exit_snapshots():
        raise Failed(f"no exit snapshot\n{run.output}")
    totals = {}
    for path in run.exit_snapshots():
        add(totals, Snapshot(path).driver_calls())
    return counted(totals)


def differing(first, second):
    return {name for name in first.keys() | second.keys() if first.get(name, 0) != second.get(name, 0)}


def counts(check, program):
    """Shim against CUPTI. What differs is counted by CUPTI once more: a program that is not the same twice proves
    nothing about such a function, and the figures say so. The device must run as many kernels as were launched: what a
    library got by a private table of the driver (shim/wrap/door.c) launches none."""
    command = COUNTED_PROGRAMS[program]
    environment = machine.libraries_found() if len(command) == 1 else {}
    (cupti, kernels), shim = side_by_side(
        [
            lambda: counts_by_cupti(check, command, environment),
            lambda: counts_by_shim(check, command, environment),
        ]
    )
    wrong = differing(cupti, shim)
    unstable = wrong & differing(cupti, counts_by_cupti(check, command, environment)[0]) if wrong else set()
    if wrong - unstable:
        raise Failed(
            "; ".join(f"{name} {shim.get(name, 0)}, CUPTI {cupti.get(name, 0)}" for name in sorted(wrong - unstable))
        )
    launched = sum(count for name, count in cupti.items() if re.match(r"cuLaunch(Cooperative)?Kernel", name))
    if "cuGraphLaunch" not in cupti and kernels != launched:
        raise Failed(f"the device ran {kernels} kernels, {launched} were launched")
    return f"{kernels} kernels; as CUPTI: " + ", ".join(
        f"{name} {count}" + (" (not the same in two CUPTI runs)" if name in unstable else "")
        for name, count in sorted(cupti.items())
    )


for counted_program in COUNTED_PROGRAMS:
    row(f"counts-{counted_program}", 20)(lambda check, program=counted_program: counts(check, program))


# --- doors and driver ---------------------------------------------------------------------------------------------


@row("interposition", 10)
def interposition(check):
    plain, shim = side_by_side(
        [
            lambda: check.run([machine.built("gpu", "procaddr")], shim=False),
            lambda: check.run([machine.built("gpu", "procaddr")]),
        ]
    )
    rows = [[line for line in run.lines("cu")] for run in (plain, shim)]
    differing = [f"{b} (plain: {a.split()[-1]})" for a, b in zip(*rows) if a != b]
    if len(rows[0]) != len(rows[1]) or differing:
        raise Failed(f"{len(differing)} functions resolve differently under the shim\n" + "\n".join(differing[:40]))
    return plain.lines("ok ")[0][3:] + "; the same under the shim"


def try_rule(check, path, shim):
    """"holds", "not asked" or what went wrong, for one program of tests/conformance (see rule.h there)."""
    try:
        run = check.run([path], shim=shim, environment=machine.libraries_found(), limit_s=60, good=(0, 77, 127))
    except Failed as failure:
        return str(failure)
    if run.status == 127 and "loading shared libraries" not in run.output:
        return f"{os.path.basename(path)} ended with status 127\n{run.output}"
    return "holds" if run.status == 0 else "not asked"


def try_rules(check, shim):
    """The rules that hold, those that cannot be asked here, and what went wrong. One at a time: some look at how much
    of the device is free, and one fills it."""
    files = filter(os.path.isfile, sorted(glob.glob(machine.built("tests", "conformance", "*"))))
    programs = [path for path in files if os.access(path, os.X_OK) and not path.endswith(".so")]
    if not programs:
        raise Skipped("no programs in build/tests/conformance")
    verdicts = [try_rule(check, path, shim) for path in programs]
    problems = [verdict for verdict in verdicts if verdict not in ("holds", "not asked")]
    return verdicts.count("holds"), verdicts.count("not asked"), problems


def judge_rules(outcome, what_differs, what_holds):
    holding, not_asked, problems = outcome
    if problems:
        names = ", ".join(problem.split()[0] for problem in problems)
        raise Failed(f"{len(problems)} rules {what_differs}: {names}\n" + "\n".join(problems))
    return f"{holding} rules {what_holds}, {not_asked} can only be asked of the simulated one"


@row("driver-conformance", 40, alone=True)
def driver_conformance(check):
    """The rules that the simulated driver follows, on the real one."""
    return judge_rules(
        try_rules(check, shim=False), "of the simulator are not the driver's", "hold on the real driver"
    )


@row("shim-conformance", 40, alone=True)
def shim_conformance(check):
    """The same rules under the shim: a program cannot tell the difference."""
    return judge_rules(try_rules(check, shim=True), "are broken by the shim", "hold on the real driver under the shim")


# --- cost ---------------------------------------------------------------------------------------------------------

OVERHEAD_SETTINGS = {"plain": {"shim": False}, "lean": {"conf": LEAN}, "default": {}}
OVERHEAD_ROUNDS = 4


def overhead_once(check, setting):
    run = check.run(
        [machine.built("gpu", "overhead")], environment=machine.libraries_found(), limit_s=60, **OVERHEAD_SETTINGS[setting]
    )
    rows = [line.split() for line in run.output.splitlines() if re.fullmatch(r"\S+ [\d.]+ [\d.]+", line)]
    return {name: float(least) for name, least, _ in rows}


@row("overhead", 60, alone=True)
def overhead(check):
    """By turns plain, lean, default, default, lean, plain: drift hits all alike, and the two plain halves (A/A) show
    the noise."""
    order = ["plain", "lean", "default", "default", "lean", "plain"]
    figures = {setting: [] for setting in order}
    for _ in range(OVERHEAD_ROUNDS):
        for setting in order:
            figures[setting].append(overhead_once(check, setting))
    texts = []
    for name in figures["plain"][0]:
        least = {setting: min(run[name] for run in runs) for setting, runs in figures.items()}
        halves = [min(run[name] for run in figures["plain"][half::2]) for half in (0, 1)]
        spread = statistics.pstdev([run[name] for run in figures["plain"]])
        texts.append(
            f"{name:24} plain {least['plain']:.0f} ns, "
            + ", ".join(
                f"{setting} {least[setting] - least['plain']:+.0f} ns ({least[setting] / least['plain']:.3f}x)"
                for setting in ("lean", "default")
            )
            + f", A/A {halves[1] - halves[0]:+.0f} ns, spread {spread:.0f}"
        )
    return "\n".join(texts)


STEP_PROGRAMS = {"train": ["steps.py", "train"], "decode": ["steps.py", "decode"], "streams": ["streams.py"]}
STEP_ROUNDS = 1


def steps_once(check, program, setting):
    name, *words = STEP_PROGRAMS[program]
    run = check.run(machine.script(name) + words, limit_s=90, **OVERHEAD_SETTINGS[setting])
    return json.loads(run.lines('{"ms')[0])["ms_tenth" if name == "steps.py" else "ms_least"]


@row("steps", 120, alone=True)
def steps(check):
    """A step of PyTorch programs whose host is the bottleneck, default settings against plain, by turns (ABBA) with an
    A/A control. Fails only where something is badly wrong: a step that takes half as long again in every pair."""
    texts, slow = [], []
    for program in STEP_PROGRAMS:
        figures = {"plain": [], "default": []}
        for number in range(STEP_ROUNDS):
            order = ["plain", "default", "default", "plain"] if number % 2 == 0 else ["default", "plain", "plain", "default"]
            for setting in order[: 4 if number == 0 else 2]:
                figures[setting].append(steps_once(check, program, setting))
        plain, default = figures["plain"], figures["default"]
        ratio = statistics.median(default) / statistics.median(plain)
        texts.append(
            f"{program:8} plain {min(plain):.2f} ms, default {min(default):.2f} ms; medians {ratio:.3f}x, "
            f"minima {min(default) / min(plain):.3f}x, A/A {max(plain) / min(plain):.3f}x"
        )
        if min(default) > 1.5 * max(plain):
            slow.append(program)
    if slow:
        raise Failed(f"{', '.join(slow)}: much slower\n" + "\n".join(texts))
    return "\n".join(texts)
