#!/usr/bin/env python3
# timeout 120
"""The matrix of scripts/gpu-check without a GPU: programs of it on the simulated one under all its settings, libraries in
the place of gpushim that break a program in every way that a cell must show, and its table. TAP."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))

import cases
from gpucheck import machine, matrix, matrix_programs, matrix_table, rows

machine.BUILD, machine.SHIM = BUILD, os.path.join(BUILD, "libgpushim.so")
machine.Run.PATIENCE_S = 0.3
CORRUPT = os.path.join(BUILD, "tests", "preload", "lib_corrupt.so")


def simulated(*words, **named):
    command = [os.path.join(ROOT, "scripts", "sim-run"), "--no-shim", "--build", BUILD, *words]
    return matrix.Program("a-program", "a program", command, **named)


def shell(text, **named):
    return matrix.Program("a-program", "a program", ["sh", "-c", text], **named)


def compat(name):
    return os.path.join(BUILD, "gpu", "compat", name)


@contextlib.contextmanager
def checking(shim=machine.SHIM, within_s=float("inf")):
    saved, machine.SHIM = machine.SHIM, shim
    check = rows.Check(within_s)
    try:
        yield check
    finally:
        check.workplace.close()
        machine.SHIM = saved


def outcome(program, **named):
    """Verdict of the row, its text, its cells."""
    with checking(**named) as check:
        try:
            result, text = "ok", matrix.try_program(check, program)
        except machine.Skipped as reason:
            result, text = "skip", str(reason)
        except machine.Failed as failure:
            result, text = "FAIL", str(failure)
        return result, text, check.more[f"matrix-{program.name}"]


def holds_under_every_setting(name):
    result, text, more = outcome(simulated(compat(name)))
    assert result == "ok" and text.startswith("same under 5 of 5 settings"), text
    assert list(more["cells"]) == list(matrix.SETTINGS), more
    assert all(cell["verdict"] == "same" and cell["findings"] >= 0 for cell in more["cells"].values()), more


def the_driver_holds_under_every_setting():
    holds_under_every_setting("contexts")


def the_runtime_holds_under_every_setting():
    holds_under_every_setting("copies")


def one_setting(function):
    """With the first setting alone, to be quick."""
    saved = dict(matrix.SETTINGS)
    for name in list(saved)[1:]:
        del matrix.SETTINGS[name]
    try:
        return function()
    finally:
        matrix.SETTINGS.update(saved)


def verdict_of(program, shim, how=None):
    program.seen = shim == machine.SHIM
    if how:
        program.environment = {"CORRUPT": how}
    result, text, more = one_setting(lambda: outcome(program, shim=shim))
    return result, more["cells"]["default"]["verdict"], text


def every_way_to_break_a_program_turns_a_cell_red():
    for how, wanted in (("result", "differs"), ("status", "status"), ("crash", "crashes"), ("child", "leaves")):
        result, verdict, text = verdict_of(simulated(compat("copies")), CORRUPT, how)
        assert (result, verdict) == ("FAIL", wanted), (how, result, verdict, text)
    result, verdict, text = verdict_of(simulated(compat("copies")), CORRUPT)
    assert (result, verdict) == ("ok", "same"), text


def a_hang_turns_a_cell_red():
    program = simulated(compat("copies"), limit_s=3)
    result, verdict, text = verdict_of(program, CORRUPT, "hang")
    assert (result, verdict) == ("FAIL", "hangs"), text
    assert "took more than" in text, text


def a_process_that_went_into_another_session_is_killed_too():
    with checking() as check:
        run = check.run(["sh", "-c", "setsid sleep 61 & echo $!; wait"], shim=False, limit_s=1, good=None)
    assert run.status is None and int(run.output) not in machine.processes_of(int(run.output)), run.output


def a_library_that_was_not_in_it_turns_a_cell_red():
    program = simulated(compat("copies"))
    result, text, more = one_setting(lambda: outcome(program, shim=CORRUPT))
    assert result == "FAIL" and more["cells"]["default"]["verdict"] == "unseen", text


def a_program_that_must_not_see_gpushim_sees_it():
    program = simulated(compat("copies"), seen=False)
    result, text, more = one_setting(lambda: outcome(program))
    assert result == "FAIL" and more["cells"]["default"]["verdict"] == "seen", text


def a_program_that_is_never_the_same_proves_nothing():
    result, verdict, text = verdict_of(shell("echo ok $$"), CORRUPT)
    assert (result, verdict) == ("FAIL", "control"), text


def what_is_missing_is_absent():
    for text, word in (("echo absent torchvision; exit 77", "torchvision"),
                       ("echo error while loading shared libraries: libcufft.so.12: no; exit 127", "libcufft.so.12")):
        result, figures, more = outcome(shell(text))
        assert (result, figures) == ("skip", f"absent: {word}") and more["plain"] == figures and not more["cells"], figures
    missing = matrix.Program("a-program", "a program", [os.path.join(BUILD, "no-such-program")])
    assert outcome(missing)[1] == "absent: not-built"
    result, verdict, text = verdict_of(shell('test -z "$LD_PRELOAD" || exit 77; echo ok done'), CORRUPT)
    assert (result, verdict) == ("FAIL", "status"), text


def what_fails_without_gpushim_too_is_no_verdict():
    result, text, more = outcome(shell("echo broken; exit 1"))
    assert result == "FAIL" and text.startswith("no control") and "broken" in text and not more["cells"], text
    assert outcome(shell("true"))[1].startswith("no control")


def only_what_pytorch_refuses_is_allowed():
    message = "RuntimeError: cudaMallocAsync does not yet support createOrIncrefPool."
    program = matrix.Program("mem-pool", "MemPool", [])
    plain = types.SimpleNamespace(status=0, left=[], lines=lambda prefix: ["ok"])

    def ended(status, output):
        return types.SimpleNamespace(
            status=status, output=output, left=[], problem=lambda: "", lines=lambda prefix: [], exit_snapshots=lambda: ["s"]
        )

    assert matrix.judge(program, "torch:serve", ended(1, message), plain)[0] == "refused"
    assert matrix.judge(program, "default", ended(1, message), plain)[0] == "status"
    assert matrix.judge(program, "torch:serve", ended(1, "AssertionError"), plain)[0] == "status"
    assert matrix.judge(program, "torch:serve", ended(-11, message), plain)[0] == "crashes"
    assert matrix.judge(program, "torch:serve", ended(None, message), plain)[0] == "hangs"
    program.name = "fp8"
    assert matrix.judge(program, "torch:serve", ended(1, message), plain)[0] == "status"


def what_is_allowed_is_a_row_and_a_setting():
    for setting, programs in matrix.ALLOWED.items():
        assert setting in matrix.SETTINGS and set(programs) <= set(matrix_programs.PROGRAMS), setting


def every_script_is_there_and_can_be_read():
    folder = os.path.join(ROOT, "tests", "gpu", "compat")
    named = set()
    for program in matrix_programs.PROGRAMS.values():
        for word in program.command:
            if word.startswith(os.path.join(ROOT, "tests")):
                assert os.path.exists(word), word
                named.add(os.path.basename(word))
    helpers = {"common.py", "tiny_llama.py", "environment.sh"}
    scripts = {name for name in os.listdir(folder) if name.endswith((".py", ".sh"))}
    assert scripts - helpers <= named, scripts - helpers - named
    for name in scripts:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            if name.endswith(".py"):
                compile(file.read(), path, "exec")
            else:
                assert subprocess.run(["bash", "-n", path], timeout=30).returncode == 0, name


def no_more_cells_are_begun_when_time_is_up():
    result, _, more = outcome(simulated(compat("copies")), within_s=-1)
    assert result == "ok" and not more["cells"]


def timed(times, late):
    """The cells of a program that took so many milliseconds, run after run, and its control."""
    times = iter(times)
    program = simulated("sh", "-c", "true")
    run = lambda ms: types.SimpleNamespace(
        status=0, peak_bytes=100 + ms, output="", lines=lambda prefix: [f"ms {ms}"], problem=lambda: ""
    )
    program.run = lambda *_, **__: run(next(times))
    saved, matrix.run_plain = matrix.run_plain, lambda *_: None
    check = types.SimpleNamespace(more={}, once=lambda *_: None, late=lambda: late)
    try:
        matrix.time_program(check, program)
    finally:
        matrix.run_plain = saved
    assert next(times, None) is None
    more = check.more["matrix-times-a-program"]
    return more["cells"], more["control"]


def timed_rows_compare_least_times():
    cells, control = timed([20, 10, 30, 20, 40, 20, 20, 15, 40, 21, 30, 15, 11, 10], late=False)
    assert cells["default"]["time"] == 1.0 and cells["torch:serve"]["time"] == 2.0, cells
    assert cells["default"]["memory"] == 1.0 and control["time"] == 1.5, (cells, control)


def no_second_round_is_begun_when_time_is_up():
    cells, control = timed([20, 10, 30, 20, 40, 20, 30], late=True)
    assert cells["default"]["time"] == 0.5 and control["time"] == 1.5, (cells, control)


def results(rows_of_file, commit="abc"):
    return {"about": {"machine": "m, NVIDIA X, 16 cores", "driver": "580", "python": "3.12", "commit": commit}, "rows": rows_of_file}


def row_of(name, cells, **more):
    return {"row": f"matrix-{name}", "result": "ok", "figures": "", "more": {"program": name, "cells": cells, **more}}


def the_table_is_made_of_all_runs_of_a_commit():
    table = matrix_table.markdown([
        results([row_of("fp8", {"default": {"verdict": "crashes"}})], "older"),
        results([row_of("fp8", {"default": {"verdict": "same", "findings": 1}, "torch:off": {"verdict": "differs"}}),
                 row_of("pyg", {}, plain="absent: torch_geometric")]),
        results([row_of("fp8", {"default": {"time": 0.987, "memory": 1.0}}),
                 row_of("mem-pool", {"torch:serve": {"verdict": "refused"}}),
                 row_of("cuda-graph", {}, plain="no control: without the shim, ..")]),
    ])
    lines = {line.split(" | ")[0][2:]: line for line in table.splitlines() if line.startswith("| ")}
    assert lines["FP8 (`torch._scaled_mm`)"].endswith("| same, 0.99x time, 1.00x memory, 1 finding | not run | not run | **differs** | not run |"), table
    assert lines["PyTorch Geometric (torch_geometric)"].count("absent") == 5, table
    assert lines["`torch.cuda.MemPool`"].count("refused") == 1 and lines["`torch.cuda.CUDAGraph`"].count("no control") == 5
    assert lines["cuFFT"].count("not run") == 5 and len(lines) == len(matrix_programs.PROGRAMS) + 2
    assert "NVIDIA X" in table and "commit abc" in table and "older" not in table


def times_may_be_of_another_commit():
    table = matrix_table.markdown([
        results([row_of("fp8", {"default": {"verdict": "same"}})], "first"),
        results([row_of("fp8", {"default": {"time": 0.5, "memory": 1.0}}, control={"time": 0.98, "memory": 1.0})], "second"),
    ])
    assert "commit first.\nTimes: NVIDIA X" in table and "commit second." in table, table
    assert "| FP8 (`torch._scaled_mm`) (A/A 0.98x, 1.00x) | same, 0.50x time, 1.00x memory |" in table, table


def times_of_a_program_are_of_its_last_run():
    timed = lambda name, setting, ratio: row_of(name, {setting: {"time": ratio, "memory": 1.0}}, control={"time": ratio, "memory": 1.0})
    table = matrix_table.markdown([
        results([timed("fp8", "default", 0.5), timed("fp8", "torch:off", 0.6), timed("mem-pool", "default", 0.7)], "first"),
        results([timed("fp8", "torch:off", 0.8)], "second"),
        results([row_of("fp8", {"default": {"verdict": "same"}})], "third"),
    ])
    assert "commit third.\nTimes: NVIDIA X, 16 cores; driver 580; Python 3.12; commit second, first.\n" in table, table
    assert "(A/A 0.80x, 1.00x) | same | not run | not run | not run, 0.80x time, 1.00x memory |" in table, table
    assert "0.70x time" in table and "0.50x" not in table and "0.60x" not in table, table


def the_table_goes_between_the_marks_of_the_readme():
    with tempfile.TemporaryDirectory() as folder:
        result, readme = os.path.join(folder, "result"), os.path.join(folder, "README.md")
        with open(result, "w", encoding="utf-8") as file:
            json.dump(results([row_of("fp8", {"default": {"verdict": "same"}})]), file)
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            before = file.read()
        command = [sys.executable, os.path.join(ROOT, "scripts", "gpu-check"), "--matrix-table", result]
        table = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        for _ in range(2):  # the second time changes nothing
            with open(readme, "w", encoding="utf-8") as file:
                file.write(before)
            assert subprocess.run([*command, "--into", readme], timeout=60).returncode == 0
            with open(readme, encoding="utf-8") as file:
                before = file.read()
            assert f"{matrix_table.BEGIN}\n{table}{matrix_table.END}\n" in before
        tool = subprocess.run([*command, "--into", result], capture_output=True, text=True, timeout=60)
        assert tool.returncode == 2 and tool.stderr.count("\n") == 1, tool


TESTS = [
    the_runtime_holds_under_every_setting,
    the_driver_holds_under_every_setting,
    every_way_to_break_a_program_turns_a_cell_red,
    a_hang_turns_a_cell_red,
    a_process_that_went_into_another_session_is_killed_too,
    a_library_that_was_not_in_it_turns_a_cell_red,
    a_program_that_must_not_see_gpushim_sees_it,
    a_program_that_is_never_the_same_proves_nothing,
    what_is_missing_is_absent,
    what_fails_without_gpushim_too_is_no_verdict,
    only_what_pytorch_refuses_is_allowed,
    what_is_allowed_is_a_row_and_a_setting,
    every_script_is_there_and_can_be_read,
    no_more_cells_are_begun_when_time_is_up,
    timed_rows_compare_least_times,
    no_second_round_is_begun_when_time_is_up,
    the_table_is_made_of_all_runs_of_a_commit,
    times_may_be_of_another_commit,
    times_of_a_program_are_of_its_last_run,
    the_table_goes_between_the_marks_of_the_readme,
]


if __name__ == "__main__":
    sys.exit(cases.run(TESTS))
