"""Rows about tools that look at the same program: they work with the shim preloaded, and say what they say without it. Also what
gpushim says of waits beside what torch.profiler says, and labelled programs that were written without knowing the detector. Written
without a GPU at hand: their bounds are those that are asked for."""

import json
import os
import re
import subprocess
import sys

from gpucheck import machine
from gpucheck.machine import Failed, Skipped
from gpucheck.rows import COUNTED, counts_by_cupti, row

WITHIN = 0.05
SIDE = {"CUDA_VISIBLE_DEVICES": "0"}


def blocked(check, profile, shim):
    """The run, and what the program says of it."""
    run = check.run(machine.script("blocked.py") + (["--profile"] if profile else []), shim=shim)
    return run, json.loads(run.lines('{"sum')[0])


def blocked_us_by_report(run):
    """Host time inside waits and copies, at lines of the program's function waits()."""
    snapshots = run.exit_snapshots()
    if len(snapshots) != 1:
        raise Failed(f"{len(snapshots)} snapshots instead of 1\n{run.output[-1500:]}")
    report = subprocess.run(
        [machine.built("gpushim-report"), "sync", "--json", *snapshots], capture_output=True, text=True, check=True
    )
    findings = json.loads(report.stdout)["findings"]
    return sum(finding["host_ns"] for finding in findings if re.search(r"blocked\.py:\d+ in waits", finding["place"])) / 1000


@row("blocked-time", 60, alone=True)
def blocked_time(check):
    """Host-blocked time of waits as gpushim measures it, and as torch.profiler does in a run without it."""
    _, profiled = blocked(check, True, False)
    run, said = blocked(check, False, True)
    found_us = blocked_us_by_report(run)
    text = f"{found_us / 1000:.1f} ms, by torch.profiler {profiled['blocked_us'] / 1000:.1f} ms"
    if said["sum"] != profiled["sum"]:
        raise Failed(f"the results differ: {said['sum']} instead of {profiled['sum']}")
    if abs(found_us / profiled["blocked_us"] - 1) > WITHIN:
        raise Failed(f"off by more than {WITHIN:.0%}: {text}")
    return text


@row("coexist-profiler", 60, alone=True)
def coexist_profiler(check):
    """torch.profiler in a program under the shim sees the same kernels and, within the bound, the same waits as without it."""
    _, plain = blocked(check, True, False)
    _, shim = blocked(check, True, True)
    if shim["sum"] != plain["sum"] or shim["kernels"] != plain["kernels"]:
        raise Failed(f"with the shim {shim}, without it {plain}")
    if abs(shim["blocked_us"] / plain["blocked_us"] - 1) > WITHIN:
        raise Failed(f"waits off by more than {WITHIN:.0%}: with the shim {shim}, without it {plain}")
    return f"{plain['kernels']} kernels with and without, waits {shim['blocked_us'] / 1000:.1f} and {plain['blocked_us'] / 1000:.1f} ms"


@row("coexist-cupti", 60)
def coexist_cupti(check):
    """A CUPTI user that the driver loads counts the same launches under the shim. Memory calls are the shim's own there."""
    texts = []
    for command in ([machine.built("gpu", "vec_static")], [machine.built("gpu", "drv_api")], machine.script("triton_kernel.py")):
        plain, shim = (counts_by_cupti(check, command, SIDE, shim=shim)[0] for shim in (False, True))
        launches = {name for name in plain | shim if COUNTED.fullmatch(name) and "Mem" not in name}
        name = os.path.basename(command[-1])
        if any(plain.get(function, 0) != shim.get(function, 0) for function in launches):
            raise Failed(f"{name}: " + "; ".join(f"{function} {shim.get(function, 0)}, without the shim {plain.get(function, 0)}"
                                                 for function in sorted(launches)))
        texts.append(f"{name} {sum(plain.get(function, 0) for function in launches)}")
    return "the same launches: " + ", ".join(texts)


def sanitizer():
    path = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "compute-sanitizer")
    if not os.path.exists(path):
        raise Skipped("no compute-sanitizer")
    return [path, "--tool", "memcheck", "--error-exitcode", "3"]


@row("coexist-sanitizer", 120)
def coexist_sanitizer(check):
    """compute-sanitizer finds nothing in a right program under the shim, and in a wrong one what is wrong."""
    right = check.run(sanitizer() + [machine.built("gpu", "vec_static")], environment=SIDE)
    wrong = check.run(sanitizer() + [machine.built("gpu", "stray"), "waited"], environment={**machine.libraries_found(), **SIDE},
                      good=tuple(range(1, 128)))
    if "ERROR SUMMARY: 0 errors" not in right.output:
        raise Failed("errors in a right program\n" + right.output[-2000:])
    if "Invalid __global__ write" not in wrong.output or "stray_write" not in wrong.output:
        raise Failed("the stray write was not found\n" + wrong.output[-2000:])
    return "0 errors in a right program, the stray write of a wrong one is named"


# --- labelled programs that were written without knowing the detector ---------------------------------------------


def labelled(check, command):
    run = check.run(command, shim=False, environment=machine.libraries_found(), good=(0, 1))
    if run.status != 0:
        raise Failed(run.output.splitlines()[-1] + "\n" + run.output)
    return run.output.splitlines()[-1]


@row("labelled-blind", 180, alone=True)
def labelled_blind(check):
    return labelled(check, machine.script("labelled.py") + ["--blind"])


@row("labelled-blind-c", 60, alone=True)
def labelled_blind_c(check):
    """Those in C: the programs that `make test` runs on the simulated GPU, on this one."""
    return labelled(check, [sys.executable, os.path.join(machine.ROOT, "tests", "labelled", "test_labelled.py"), "--gpu"])
