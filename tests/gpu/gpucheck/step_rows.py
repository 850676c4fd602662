"""Rows about steps: what gpushim finds and estimates beside what the program and torch.profiler say. Written without a GPU at
hand: their bounds are those that are asked for."""

import glob
import json
import os

from gpucheck import machine
from gpucheck.machine import Failed
from gpucheck.rows import row, totals_by_cupti
from gpucheck.snapshot import Snapshot

WITHIN = 0.10
WARM = 20


def main_loop(run):
    found = [path for path in glob.glob(os.path.join(run.folder, "gpushim.*.json"))]
    if len(found) != 1:
        raise Failed(f"{len(found)} snapshots instead of 1\n{run.output[-1500:]}")
    snapshot = Snapshot(found[0])
    loops = [(number, loop) for number, loop in enumerate(snapshot.table("loops")) if loop["kind"] != "inner"]
    if not loops:
        raise Failed("no steps were found")
    number, loop = max(loops, key=lambda item: item[1]["wall_ns"])
    steps = [step for step in snapshot.table("steps") if step["loop"] == number][-150:]
    middle = lambda key: sorted(step[key] for step in steps)[len(steps) // 2]
    return loop["steps"], middle("launches"), middle("device_ns") / 1000, middle("wall_ns") / 1000


QUEUED_SHARE, IDLE_SHARE = 1.3, 0.7  # of shim/watch/sample.c
SHARE_WITHIN = 0.2  # some 0.6 us


@row("event-pairs", 15, alone=True)
def event_pairs(check):
    """What two events add to the kernel between them, as shares of what lies between two with nothing in between; how long the
    kernels took is CUPTI's figure."""
    texts, wrong = [], False
    for microseconds in ("12", "30"):
        command = [machine.built("gpu", "event_pairs"), microseconds]
        empty, idle, queued = map(float, check.run(command, shim=False).lines("ns ")[0].split()[1:])
        totals = totals_by_cupti(check, command, machine.libraries_found())
        kernel = totals["kernels_ns"] / totals["kernels"]
        shares = (queued - kernel) / empty, (idle - kernel) / empty
        wrong |= abs(shares[0] - QUEUED_SHARE) > SHARE_WITHIN or abs(shares[1] - IDLE_SHARE) > SHARE_WITHIN
        texts.append(f"kernels of {kernel:.0f} ns: empty {empty:.0f} ns, queued {shares[0]:.2f} of it, idle {shares[1]:.2f}")
    if wrong:
        raise Failed(f"not {QUEUED_SHARE} and {IDLE_SHARE} within {SHARE_WITHIN}\n" + "\n".join(texts))
    return "\n".join(texts)


@row("steps-found", 120, alone=True)
def steps_found(check):
    """Steps, launches a step, wall time and time on the device, of a training loop and a decoding one."""
    texts = []
    for program in ("train", "decode"):
        words = machine.script("step_time.py") + [program]
        profiled = json.loads(check.run(words + ["--profile"], shim=False).lines('{"steps')[0])
        run = check.run(words, conf="snapshot:exit,device_time:2")
        said = json.loads(run.lines('{"steps')[0])
        steps, launches, device_us, wall_us = main_loop(run)
        text = (f"{program}: {steps} steps of {said['steps'] + WARM}, {launches} launches ({profiled['launches']:.0f}), "
                f"{wall_us:.0f} us ({said['wall_us']:.0f}), on the device {device_us:.0f} us ({profiled['device_us']:.0f})")
        texts.append(text)
        if not said["steps"] * 0.95 <= steps <= said["steps"] + WARM or abs(launches - profiled["launches"]) > 2:
            raise Failed("the steps are not those of the program: " + text)
        if abs(wall_us / said["wall_us"] - 1) > WITHIN or abs(device_us / profiled["device_us"] - 1) > WITHIN:
            raise Failed(f"off by more than {WITHIN:.0%}: " + text)
    return "\n".join(texts)
