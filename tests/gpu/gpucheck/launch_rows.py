"""Rows about launches: which one an error on the device is blamed on, and what knowing it costs."""

import glob
import json
import os
import re
import statistics
import subprocess

from gpucheck import machine
from gpucheck.machine import Failed
from gpucheck.rows import row


def error_of(run):
    """The error of the run's error snapshot, as gpushim-report tells it."""
    found = glob.glob(os.path.join(run.folder, "gpushim.*.error.json"))
    if len(found) != 1:
        raise Failed(f"{len(found)} error snapshots instead of 1\n{run.output[-1500:]}")
    report = subprocess.run(
        [machine.built("gpushim-report"), "summary", "--json", found[0]], capture_output=True, text=True, timeout=60
    )
    errors = json.loads(report.stdout)["errors"] if report.returncode == 0 else []
    if len(errors) != 1:
        raise Failed(f"{len(errors)} errors in the snapshot instead of 1\n{report.stderr}")
    return errors[0]


def blame(check, command, kernel, waited):
    """Runs it; the kernel must come first, with its line where the program names it, and alone where all else was waited
    for. Returns how many candidates there were."""
    words = ["waited"] if waited else ["unwaited"] if command[0].endswith("stray") else []
    run = check.run(command + words, conf="snapshot:error", environment=machine.libraries_found(), good=(0, 1, -6))
    if not run.lines("got"):
        raise Failed(f"the program got no error\n{run.output[-1500:]}")
    candidates = error_of(run)["candidates"]
    lines = [line.split()[1] for line in run.lines("line ")]
    name = " ".join([os.path.basename(command[-1]), *words])
    if not candidates:
        raise Failed(f"{name}: nobody is blamed")
    first = candidates[0]
    if kernel not in first["kernel"]:
        raise Failed(f"{name}: {first['kernel'][:100]} is blamed at {first['place']}")
    if lines and f"stray.py:{lines[-1]} " not in first["place"]:
        raise Failed(f"{name}: {first['kernel'][:60]} is blamed at {first['place']}, not at line {lines[-1]}")
    if waited and len(candidates) != 1:
        raise Failed(f"{name}: {len(candidates)} candidates, though all else was waited for")
    return f"{name} {len(candidates)}"


@row("error-blame", 60)
def error_blame(check):
    """A planted illegal access, and a failed assertion of a PyTorch kernel, on one of several busy streams."""
    cases = [
        ([machine.built("gpu", "stray")], "stray_write"),
        (machine.script("stray.py") + ["write"], "stray_write"),
        (machine.script("stray.py") + ["assert"], "index"),
    ]
    found = [blame(check, command, kernel, waited) for command, kernel in cases for waited in (True, False)]
    return "the culprit is named first, with its line; candidates: " + ", ".join(found)


LOG_SETTINGS = {"plain": {"shim": False}, "off": {"conf": "launches:0"}, "on": {}}
LOG_ROUNDS = 5


def launch_figures(check, setting):
    driver = check.run(
        [machine.built("gpu", "overhead")], environment=machine.libraries_found(), limit_s=60, **LOG_SETTINGS[setting]
    )
    figures = dict(re.findall(r"^(cuLaunchKernel|<<<>>>) ([\d.]+)", driver.output, re.M))
    torch = check.run(machine.script("launch_cost.py"), limit_s=60, **LOG_SETTINGS[setting])
    figures["torch"] = json.loads(torch.lines('{"ns')[0])["ns_least"]
    return {name: float(value) for name, value in figures.items()}


@row("cost-launch", 150, alone=True)
def cost_launch(check):
    """Host time of a launch with the log on and off and without the shim, by turns; the A/A control is the two halves of
    the runs with the log off."""
    order = ["plain", "off", "on", "on", "off", "plain"]
    figures = {setting: [] for setting in order}
    for _ in range(LOG_ROUNDS):
        for setting in order:
            figures[setting].append(launch_figures(check, setting))
    texts = []
    for name in ("cuLaunchKernel", "<<<>>>", "torch"):
        least = {setting: min(run[name] for run in runs) for setting, runs in figures.items()}
        middle = {setting: statistics.median(run[name] for run in runs) for setting, runs in figures.items()}
        halves = [min(run[name] for run in figures["off"][half::2]) for half in (0, 1)]
        texts.append(
            f"{name:14} plain {least['plain']:.0f} ns, log off {least['off'] - least['plain']:+.0f}, "
            f"log on {least['on'] - least['off']:+.0f} more (medians {middle['on'] - middle['off']:+.0f}); "
            f"A/A {halves[1] - halves[0]:+.0f}"
        )
    return "\n".join(texts)
