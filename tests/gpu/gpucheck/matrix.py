"""The matrix: each program without the shim, then under each of the settings; a cell holds if status and result are the
same. The programs are in matrix_programs.py, the table for the README is made by matrix_table.py.

A program prints its result as lines that begin with "ok ". It ends with 77 and a line "absent WORD" where what it needs is
not there. Only what it does without the shim decides about that."""

import json
import os
import re
import statistics
import subprocess

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.rows import row

SETTINGS = {
    "default": "",
    "graph:auto,submit:thread": "graph:auto,submit:thread",
    "torch:serve": "torch:serve",
    "torch:off": "torch:off",
    "backend:cudamalloc": "backend:cudamalloc",
}

# What PyTorch refuses under a setting, by its own message: program -> what its output must say when it ends with an error.
UNDER_ASYNC = r"cudaMallocAsync.*(does not yet support|does not support|is not meaningful|not supported)"
ALLOWED = {
    "torch:serve": {
        "compile-reduce-overhead": UNDER_ASYNC,
        "generate-static": UNDER_ASYNC,  # transformers compiles it so
        "memory-history": UNDER_ASYNC,
        "mem-pool": UNDER_ASYNC,
        "tensors-to-processes": UNDER_ASYNC,
        # Two allocators are asked for, by the setting and by the program.
        "pluggable-allocator": r"Allocator backend parsed at runtime != allocator backend parsed at load time",
    },
}

SAME, REFUSED = "same", "refused"
ABSENT_STATUS = 77


class Program:
    """A row of the matrix. own_folders: variables that name a folder which all runs of the program share (caches of
    compilers); seconds: of one run, roughly; seen: whether a run under the shim leaves a snapshot; status: how it ends
    without the shim."""

    def __init__(self, name, title, command, limit_s=90, seconds=9, environment=None, own_folders=(), gpus=1, seen=True, status=0):
        self.name = name
        self.title = title
        self.command = command
        self.limit_s = limit_s
        self.seconds = seconds
        self.environment = environment or {}
        self.own_folders = own_folders
        self.gpus = gpus
        self.seen = seen
        self.status = status

    def variables(self, check):
        folders = {}
        for name in self.own_folders:
            folders[name] = os.path.join(check.workplace.folder, f"{self.name}.{name}")
            os.makedirs(folders[name], exist_ok=True)
        return {**self.environment, **folders}

    def run(self, check, setting=None, limit_s=0, sampler=None):
        """Without a setting: without the shim."""
        return check.run(
            self.command,
            shim=setting is not None,
            conf=SETTINGS.get(setting, ""),
            environment=self.variables(check),
            limit_s=max(self.limit_s, limit_s),
            good=None,
            sampler=sampler,
        )


def result_of(run):
    return sorted(run.lines("ok "))


def why_absent(run):
    """One word, or None."""
    if run.status == ABSENT_STATUS:
        return (run.lines("absent ") or ["absent unsaid"])[-1].split()[1]
    if run.status == 127 and "loading shared libraries" in run.output:
        return (re.findall(r"libraries: ([\w.+-]+)", run.output) or ["library"])[0]
    return None


def run_plain(check, program):
    files = [word for word in program.command if word.startswith(machine.BUILD)]
    for path in files:
        if not os.path.exists(path):
            raise Skipped("absent: not-built")
    if program.gpus > 1 and machine.device_count() < program.gpus:
        raise Skipped("absent: one-gpu")
    plain = program.run(check)
    word = why_absent(plain)
    if word:
        raise Skipped(f"absent: {word}")
    if plain.status != program.status or not result_of(plain):
        raise Failed("no control: without the shim, " + plain.problem())
    return plain


def findings_of(run):
    """How many problems gpushim-report names in the run's snapshots."""
    count = 0
    for path in run.exit_snapshots():
        tool = [machine.built("gpushim-report"), "sync", "--json", path]
        report = subprocess.run(tool, capture_output=True, text=True, timeout=60)
        if report.returncode not in (0, 1):
            raise Failed(f"gpushim-report cannot read the snapshot\n{report.stderr[-1000:]}")
        count += sum(finding["problem"] for finding in json.loads(report.stdout)["findings"])
    return count


def judge(program, setting, run, plain):
    """A word for the table, and what there is to say when it is neither "same" nor "refused"."""
    pattern = ALLOWED.get(setting, {}).get(program.name)
    if run.status is None:
        return "hangs", run.problem()
    if run.status < 0:
        return "crashes", run.problem()
    if run.status != plain.status:
        if pattern and run.status > 0 and re.search(pattern, run.output):
            return REFUSED, ""
        return "status", run.problem()
    if result_of(run) != result_of(plain):
        return "differs", f"{result_of(run)[:2]} instead of {result_of(plain)[:2]}"
    if run.left and not plain.left:
        return "leaves", "processes left behind: " + ", ".join(run.left)
    if program.seen and not run.exit_snapshots():
        return "unseen", "no snapshot: was gpushim in it?\n" + run.problem()
    if not program.seen and (run.exit_snapshots() or run.lines("gpushim: ")):
        return "seen", "gpushim must not be in it\n" + run.problem()
    return SAME, ""


def run_cell(check, program, setting, plain):
    run = program.run(check, setting, limit_s=4 * plain.seconds)
    verdict, text = judge(program, setting, run, plain)
    if verdict == "differs" and result_of(program.run(check)) != result_of(plain):
        verdict, text = "control", "two runs without the shim differ, too"
    cell = {"verdict": verdict, "seconds": round(run.seconds, 1)}
    said = [line for line in run.lines("gpushim: ") if "snapshot" not in line]
    if said:
        cell["said"] = said[:5]
    if verdict == SAME:
        try:
            cell["findings"] = findings_of(run)
        except (Failed, ValueError, KeyError, subprocess.SubprocessError) as failure:
            cell["verdict"], text = "unreadable", str(failure)
    return cell, text


def note(check, row_name, program, cells=None, plain=None):
    """What this row has for the table of the matrix."""
    more = check.more.setdefault(row_name, {"program": program.name, "cells": {}})
    more["cells"].update(cells or {})
    if plain:
        more["plain"] = plain


def try_program(check, program):
    row_name = f"matrix-{program.name}"
    note(check, row_name, program)
    try:
        plain = run_plain(check, program)
    except (Skipped, Failed) as reason:
        note(check, row_name, program, plain=str(reason).split("\n")[0])
        raise
    problems = []
    for setting in SETTINGS:
        if check.late():
            break
        cell, text = run_cell(check, program, setting, plain)
        note(check, row_name, program, {setting: cell})
        if cell["verdict"] not in (SAME, REFUSED):
            problems.append(f"{setting}: {cell['verdict']}: {text}")
    cells = check.more[row_name]["cells"]
    if problems:
        raise Failed(f"{len(problems)} of {len(cells)} settings: {'; '.join(p.split(chr(10))[0] for p in problems)}\n" + "\n".join(problems))
    refused = [setting for setting, cell in cells.items() if cell["verdict"] == REFUSED]
    return (
        f"same under {len(cells) - len(refused)} of {len(SETTINGS)} settings"
        + (f", refused by PyTorch as is known under {', '.join(refused)}" if refused else "")
        + f"; findings {' '.join(str(cell.get('findings', '-')) for cell in cells.values())}; {plain.seconds:.0f} s"
    )


TIME_ROUNDS = 2


def figures_of(run):
    """Least milliseconds of a step, as the program says, and most bytes held."""
    found = [float(line.split()[1]) for line in run.lines("ms ")]
    if run.status != 0 or not found:
        raise Failed(run.problem())
    return min(found), run.peak_bytes


def time_program(check, program):
    """Without the shim and under each setting by turns, forth and back; the A/A control is a second run without it in each
    turn. Minima are compared."""
    row_name = f"matrix-times-{program.name}"
    note(check, row_name, program)
    run_plain(check, program)  # also fills the caches of compilers
    sampler = check.once("sampler", machine.Sampler)
    order = ["plain", *SETTINGS, "control"]
    figures = {name: [] for name in order}
    broken = {}
    for number in range(TIME_ROUNDS):
        if number > 0 and check.late():
            break
        for name in order if number % 2 == 0 else order[::-1]:
            if name in broken:
                continue
            run = program.run(check, name if name in SETTINGS else None, sampler=sampler)
            try:
                figures[name].append(figures_of(run))
            except Failed as failure:
                if name not in SETTINGS:
                    raise
                broken[name] = str(failure).split("\n")[0]
    least = {name: [min(column) for column in zip(*runs)] for name, runs in figures.items() if runs}
    for setting in SETTINGS:
        if setting in least and setting not in broken:
            ratios = [ours / theirs for ours, theirs in zip(least[setting], least["plain"])]
            note(check, row_name, program, {setting: {"time": round(ratios[0], 3), "memory": round(ratios[1], 3)}})
    cells = check.more[row_name]["cells"]
    control = [ours / theirs for ours, theirs in zip(least["control"], least["plain"])]
    check.more[row_name]["control"] = {"time": round(control[0], 3), "memory": round(control[1], 3)}
    spread = statistics.pstdev([ms for ms, _ in figures["plain"] + figures["control"]])
    return (
        f"plain {least['plain'][0]:.3f} ms a step (spread {spread:.3f}), {least['plain'][1] / 2**20:.0f} MiB; "
        + "; ".join(f"{setting} {cell['time']:.3f}x time, {cell['memory']:.3f}x memory" for setting, cell in cells.items())
        + f"; A/A {control[0]:.3f}x, {control[1]:.3f}x"
        + "".join(f"; {setting} failed: {text}" for setting, text in broken.items())
    )


def register(program, timed):
    seconds = program.seconds * (len(SETTINGS) + 1) // 8  # so many run at once
    row(f"matrix-{program.name}", seconds, group="matrix")(lambda check: try_program(check, program))
    if timed:
        seconds = program.seconds * (TIME_ROUNDS * (len(SETTINGS) + 2) + 1)
        row(f"matrix-times-{program.name}", seconds, alone=True, group="matrix-times")(
            lambda check: time_program(check, program)
        )
