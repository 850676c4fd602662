#!/usr/bin/env python3
"""scripts/gpu-check itself, as far as it can be tried without a GPU: parts, verdicts, limits, tables. TAP."""

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GPU_CHECK = os.path.join(ROOT, "scripts", "gpu-check")
sys.dont_write_bytecode = True

loader = importlib.machinery.SourceFileLoader("gpu_check", GPU_CHECK)
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
loader.exec_module(gpu_check)

import cases
from gpucheck import machine, rows
from gpucheck.snapshot import Snapshot


def failure_of(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except machine.Failed as failure:
        return str(failure)
    raise AssertionError("did not fail")


def every_row_is_in_exactly_one_part():
    names = sorted(rows.ROWS)
    for parts in (1, 2, 3, 7):
        found = []
        for k in range(parts):
            found += [row.name for row in gpu_check.select_part(rows.ROWS.values(), f"{k + 1}/{parts}")]
        assert sorted(found) == names, (parts, found)


def rows_that_share_runs_stay_together():
    for k in (1, 2, 3):
        part = {row.name for row in gpu_check.select_part(rows.ROWS.values(), f"{k}/3")}
        group = {"losses", "tensors-observe", "tensors-serve", "top-lines"}
        assert not part & group or group <= part, part


def run_tool(*arguments):
    return subprocess.run([sys.executable, GPU_CHECK, *arguments], capture_output=True, text=True, timeout=60)


def bad_arguments_end_with_2():
    for arguments in (["--only", "nothing"], ["--part", "4/3"], ["--part", "x"], ["--part", "0/2"]):
        tool = run_tool(*arguments)
        assert tool.returncode == 2 and arguments[1] in tool.stderr, tool


def without_a_driver_one_clear_line():
    tool = run_tool("--only", "interposition")
    if tool.returncode in (0, 1):
        return "SKIP there is a GPU"
    assert tool.returncode == 2 and tool.stderr.startswith("gpu-check: ") and tool.stderr.count("\n") == 1, tool
    return None


@contextlib.contextmanager
def workplace():
    place = machine.Workplace()
    try:
        yield place
    finally:
        place.close()
    assert not os.path.exists(place.folder)


def a_crash_shows_signal_and_last_lines():
    with workplace() as place:
        text = failure_of(place.run, ["sh", "-c", "seq 100; kill -SEGV $$"], shim=False).split("\n")
        assert "SIGSEGV" in text[0] and text[-1].strip() == "100", text
        assert len(text) == 1 + machine.TAIL_LINES


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def a_program_over_its_limit_is_killed_with_its_children():
    with workplace() as place:
        text = failure_of(place.run, ["sh", "-c", "sleep 60 & echo $!; wait"], shim=False, limit_s=1)
        assert "more than 1 s" in text, text
        child = int(text.split()[-1])
        deadline = time.monotonic() + 10  # a killed process is not gone at once
        while is_alive(child):
            assert time.monotonic() < deadline, "the child lives"
            time.sleep(0.05)


def programs_run_by_turns():
    serve = "import sys; sys.path.insert(0, sys.argv[1]); import turns; turns.serve(lambda: None)"
    gpu = os.path.join(ROOT, "tests", "gpu")
    with workplace() as place:
        program, broken = (place.start([sys.executable, "-c", code, gpu], shim=False) for code in (serve, "1 / 0"))
        try:
            program.ready()
            assert len(program.steps(3)) == 3 and len(program.steps(1)) == 1
            assert "ZeroDivisionError" in failure_of(broken.ready)
        finally:
            program.close()
            broken.close()


def shim_and_settings_reach_the_program():
    saved, machine.SHIM = machine.SHIM, "libgpushim-of-the-test.so"
    try:
        with workplace() as place:
            show = "from os import environ as e; print(e.get('LD_PRELOAD'), e.get('GPUSHIM_ALLOC_CONF'))"
            show = [sys.executable, "-c", show]
            assert place.run(show, shim=False).lines("None None")
            assert place.run(show, conf="watch:off").lines("libgpushim-of-the-test.so watch:off")
    finally:
        machine.SHIM = saved


def make_snapshot(functions=()):
    """Built from the columns in report/schema.h, so that a renamed key is noticed here."""
    with open(os.path.join(ROOT, "report", "schema.h"), encoding="utf-8") as file:
        schema = file.read()

    def keys(table):
        return re.findall(rf"X\({table}, (\w+), ", schema)

    def fill(table, rows_of_table):
        return {key: [row.get(key, 0) for row in rows_of_table] for key in keys(table)}

    blocks = fill("blocks", [{"address": "7f00", "size_bytes": 100}, {"address": "8f00", "size_bytes": 50, "state": 1}])
    live = fill("live", [{"address": "a0", "size_bytes": 512}, {"address": "b0", "size_bytes": 1024, "class": 1}])
    assert {"total_count", "class"} <= set(keys("live_totals"))
    assert {"name", "layer", "calls"} <= set(keys("functions"))
    assert "counters" in keys("devices")
    return {
        "schema": 1,
        "devices": [{"counters": {"allocs": 7}}, {"counters": None}],
        "blocks": {**blocks, "state_names": ["live", "idle"], "origin_names": ["async"]},
        "live": {**live, "class_names": ["tensor", "host"]},
        "live_totals": [{"class": "tensor", "total_count": 3}, {"class": "host", "total_count": 9}],
        "functions": [{"name": name, "layer": layer, "calls": calls} for name, layer, calls in functions],
    }


def a_snapshot_is_read():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(make_snapshot([("cuMemFree_v2", "driver", 2), ("cudaFree", "runtime", 1)]), file)
        snapshot = Snapshot(path)
    assert snapshot.live_blocks("async") == {0x7F00: 100}
    assert snapshot.live("tensor") == {0xA0: 512}
    assert snapshot.live_ever("tensor") == 3
    assert snapshot.counter("allocs") == 7
    assert snapshot.driver_calls() == {"cuMemFree_v2": 2} and snapshot.runtime_calls() == {"cudaFree": 1}


def with_counts(cupti_runs, shim, kernels=5):
    """What the row says when CUPTI and the shim count this."""
    saved = rows.counts_by_cupti, rows.counts_by_shim
    runs = iter([(calls, kernels) for calls in cupti_runs])
    rows.counts_by_cupti = lambda *_: next(runs)
    rows.counts_by_shim = lambda *_: shim
    try:
        return rows.counts(None, "triton")
    finally:
        rows.counts_by_cupti, rows.counts_by_shim = saved


def equal_counts_pass_and_a_missing_launch_does_not():
    calls = {"cuLaunchKernel": 5, "cuMemFree_v2": 2}
    assert with_counts([calls], dict(calls)) == "5 kernels; as CUPTI: cuLaunchKernel 5, cuMemFree_v2 2"
    text = failure_of(with_counts, [calls, calls], {"cuLaunchKernel": 4, "cuMemFree_v2": 2})
    assert text == "cuLaunchKernel 4, CUPTI 5", text
    text = failure_of(with_counts, [calls, calls], {**calls, "cuMemAlloc_v2": 1})
    assert text == "cuMemAlloc_v2 1, CUPTI 0", text
    text = failure_of(with_counts, [calls], dict(calls), kernels=6)
    assert text == "the device ran 6 kernels, 5 were launched", text
    assert with_counts([{**calls, "cuGraphLaunch": 1}], {**calls, "cuGraphLaunch": 1}, kernels=6)


def what_cupti_itself_counts_differently_is_no_verdict():
    calls = {"cuLaunchKernel": 5, "cuMemFree_v2": 2}
    text = with_counts([calls, {**calls, "cuMemFree_v2": 3}], {**calls, "cuMemFree_v2": 4})
    assert "cuMemFree_v2 2 (not the same" in text, text


def counted_names():
    for name in "cuLaunchKernel_ptsz cuLaunchKernelEx cuGraphLaunch cuMemAlloc_v2 cuMemFreeAsync_ptsz".split():
        assert rows.COUNTED.fullmatch(name), name
    for name in "cuLaunchHostFunc cuMemAllocHostX cuMemcpyHtoD_v2 cuGraphLaunchX cuMemGetInfo_v2 cudaMalloc".split():
        assert not rows.COUNTED.fullmatch(name), name


def a_row_that_raises_is_a_failed_row():
    def broken(_):
        raise KeyError("blocks")

    row = rows.Row("broken", broken, 1, False, None)
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = gpu_check.run_row(types.SimpleNamespace(more={}), row)
    assert outcome["result"] == "FAIL" and "KeyError" in outcome["figures"], outcome


def results_are_merged_by_commit():
    about = {"machine": "m", "driver": "580", "python": "3.12", "commit": "abc"}
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (name, result) in enumerate([("losses", "FAIL"), ("losses", "ok"), ("overhead", "ok")]):
            paths.append(os.path.join(folder, str(number)))
            with open(paths[-1], "w", encoding="utf-8") as file:
                rows_of_file = [{"row": name, "result": result, "figures": f"figure {number}"}]
                json.dump({"about": about, "rows": rows_of_file}, file)
        tool = run_tool("--merge", *paths)
        assert tool.returncode == 0 and tool.stdout.count("abc") == 1, tool
        assert "figure 1" in tool.stdout and "figure 2" in tool.stdout and "figure 0" not in tool.stdout, tool
        assert run_tool("--merge", paths[0]).returncode == 1


def git(folder, *arguments):
    command = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def tree_name(folder):
    command = [os.path.join(ROOT, "scripts", "tree-name"), folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(text, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def a_tree_has_the_name_of_its_commit_and_its_changes():
    if not shutil.which("git"):
        return "SKIP no git"
    with tempfile.TemporaryDirectory() as folder:
        assert tree_name(folder) == "unknown", tree_name(folder)
        git(folder, "init", "-q")
        assert tree_name(folder) == "unknown", tree_name(folder)
        write("/build/\n", folder, ".gitignore")
        write("int old;\n", folder, "shim", "a.c")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "a")
        head = git(folder, "rev-parse", "--short=12", "HEAD")
        write("made\n", folder, "build", "a.o")
        assert tree_name(folder) == head
        assert tree_name(os.path.join(folder, "shim")) == "unknown"  # a copy inside another repository
        names = {head}
        for text, path in (("int new;\n", ("shim", "a.c")), ("", ("shim", "b.c")), ("a", ("shim", "b.c"))):
            before = git(folder, "count-objects")
            write(text, folder, *path)
            names.add(tree_name(folder))
            assert git(folder, "count-objects") == before and not git(folder, "diff", "--cached", "--name-only")
        assert len(names) == 4, names
        changed = tree_name(folder)
        git(folder, "add", "-A")
        assert changed == tree_name(folder) == f"{head}, with changes: tree {git(folder, 'write-tree')[:12]}", changed
        git(folder, "commit", "-qm", "b")
        assert git(folder, "log", "-1", "--format=%T").startswith(changed.split()[-1])
        assert tree_name(folder) == git(folder, "rev-parse", "--short=12", "HEAD") != head
    return None


def the_commit_is_that_of_the_build():
    with tempfile.TemporaryDirectory() as folder:
        with unittest.mock.patch.multiple(machine, BUILD=folder, SHIM=os.path.join(folder, "libgpushim.so")):
            assert machine.describe()["commit"] == "unknown"
            write("a library", machine.SHIM)
            assert machine.describe()["commit"] == "unknown"
            digest = hashlib.sha256(b"a library").hexdigest()
            write(f"{digest} abc, with changes: tree def\n", folder, "gpu", "made-of")
            assert machine.describe()["commit"] == "abc, with changes: tree def"
            write("another library", machine.SHIM)
            assert machine.describe()["commit"] == "unknown"


def make_writes_down_what_it_built():
    with tempfile.TemporaryDirectory() as folder:
        write("a library", folder, "libgpushim.so")
        options = ["-s", "-o", "toolkit", "-o", os.path.join(folder, "libgpushim.so"), f"O={folder}", "lib"]
        subprocess.run(["make", *options], cwd=ROOT, capture_output=True, check=True, timeout=60)
        with unittest.mock.patch.multiple(machine, BUILD=folder, SHIM=os.path.join(folder, "libgpushim.so")):
            assert machine.commit_built() == tree_name(ROOT), machine.commit_built()


TESTS = [
    every_row_is_in_exactly_one_part,
    rows_that_share_runs_stay_together,
    bad_arguments_end_with_2,
    without_a_driver_one_clear_line,
    a_crash_shows_signal_and_last_lines,
    a_program_over_its_limit_is_killed_with_its_children,
    programs_run_by_turns,
    shim_and_settings_reach_the_program,
    a_snapshot_is_read,
    equal_counts_pass_and_a_missing_launch_does_not,
    what_cupti_itself_counts_differently_is_no_verdict,
    counted_names,
    a_row_that_raises_is_a_failed_row,
    results_are_merged_by_commit,
    a_tree_has_the_name_of_its_commit_and_its_changes,
    the_commit_is_that_of_the_build,
    make_writes_down_what_it_built,
]


if __name__ == "__main__":
    sys.exit(cases.run(TESTS))
