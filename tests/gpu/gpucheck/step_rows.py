"""Rows about steps: what gpushim finds and estimates beside what the program and torch.profiler say. Written without a GPU at
hand: their bounds are those that are asked for."""

import glob
import json
import os

from gpucheck import machine
from gpucheck.machine import Failed
from gpucheck.rows import row
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
