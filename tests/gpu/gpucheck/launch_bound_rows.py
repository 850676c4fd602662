"""A row about the programs of tests/gpu/launch_bound.cu: each computes the same without gpushim and with it, under each setting,
and how long its fastest pass takes. Each run is a process of its own; settings take turns, there and back; the A/A control is a
second one without gpushim. Judged as the rows of replay_rows.py are: the row fails where results differ, and what got slower is
said, and is no failure. Written without a GPU at hand."""

import os
import subprocess

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.matrix import result_of, why_absent
from gpucheck.replay_rows import ONE_GPU, SETTINGS, Outcome, Program, judged, told_by_report
from gpucheck.rows import row, side_by_side

ORDER = ["plain", "default", "thread", "graph", "control"]
LIMIT_S = 60
CHECKS_AT_ONCE = 8


def programs_of(check):
    """The program itself says which there are."""
    path = machine.built("gpu", "launch_bound")
    if not os.path.exists(path):
        raise Skipped("absent: not-built")
    names = check.run([path], shim=False, limit_s=LIMIT_S).output.split()
    environment = machine.libraries_found()
    return [Program(name, [path, name], 1, aims={"default": 0.99}, environment=environment) for name in names]


def try_setting(check, program, outcome, setting, more=()):
    """One run. With `more`, only how it ends counts."""
    run = check.run(
        [*program.command, *more], environment=program.environment, limit_s=LIMIT_S, good=None, **SETTINGS[setting]
    )
    word = why_absent(run)
    if word:
        outcome.absent = f"absent: {word}"
        return
    least_ms = [float(line.split()[2]) for line in run.lines("ms ")]
    if run.status != 0 or len(least_ms) != 1:
        outcome.problems[setting] = run.problem()
        return
    if more:
        return
    outcome.seconds.setdefault(setting, []).append(least_ms[0] / 1e3)
    results = outcome.results.setdefault(setting, [])
    results += [line for line in result_of(run) if line not in results]
    if SETTINGS[setting].get("shim", True):
        try:
            outcome.told[setting] = told_by_report(run.folder)
        except (Failed, ValueError, subprocess.SubprocessError) as failure:
            outcome.problems[setting] = str(failure)


def check_on_host(check, outcomes):
    """Without gpushim: does the host make the same of each program? Several at once; nothing is timed."""
    every = list(outcomes.items())
    for first in range(0, len(every), CHECKS_AT_ONCE):
        some = every[first : first + CHECKS_AT_ONCE]
        side_by_side([lambda p=p, o=o: try_setting(check, p, o, "plain", ["check"]) for p, o in some])


@row("launch-bound", 120, alone=True, group="replay")
def launch_bound(check):
    """Programs in C that are bound by their launches, of sixteen kinds."""
    outcomes = {program: Outcome() for program in programs_of(check)}
    check_on_host(check, outcomes)
    for program, outcome in outcomes.items():
        for setting in ORDER + ORDER[::-1]:
            if outcome.ran(setting):
                try_setting(check, program, outcome, setting)
    return judged(outcomes)
