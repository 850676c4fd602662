#!/usr/bin/env python3
"""The row launch-bound without a GPU: what it says of a program that only prints, and the names of the real one. TAP."""

import contextlib
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))

import cases
from gpucheck import launch_bound_rows, machine, rows

# Prints like launch_bound; $setting is empty without gpushim.
PROGRAM = """#!/bin/sh
[ $# -gt 0 ] || { echo one; echo two; exit; }
setting=${GPUSHIM_ALLOC_CONF-$LD_PRELOAD}
ms=10.0 hash=0123456789abcdef
%s
[ "$2" != check ] || echo right $1
echo ok $1 $hash
echo ms $1 $ms
"""
GRAPH = "submit:thread,graph:auto"
TOLD = {
    "submit": [{"kind": "put_off", "name": "launches", "count": 1000}],
    "graph": [{"kind": "figure", "name": "replayed", "count": 900}],
}


@contextlib.contextmanager
def program(text):
    saved = machine.BUILD, machine.SHIM, launch_bound_rows.told_by_report
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpu", "launch_bound")
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM % text)
        os.chmod(path, 0o755)
        machine.BUILD, machine.SHIM, launch_bound_rows.told_by_report = folder, "", lambda _: TOLD
        check = rows.Check()
        try:
            yield check
        finally:
            check.workplace.close()
            machine.BUILD, machine.SHIM, launch_bound_rows.told_by_report = saved


def outcome(text):
    """The verdict and what is said."""
    with program(text) as check:
        try:
            return "ok", launch_bound_rows.launch_bound(check)
        except machine.Skipped as reason:
            return "skip", str(reason)
        except machine.Failed as failure:
            return "FAIL", str(failure)


def equal_results_hold_with_times_and_shares():
    verdict, text = outcome(f'[ "$setting" != {GRAPH} ] || ms=4.0')
    lines = text.split("\n")
    assert verdict == "ok" and len(lines) == 2, text
    assert lines[1] == (
        "two           same; plain 10.000 ms a step (A/A 1.000x), default 1.000x, thread 1.000x, graph 2.500x; "
        "graphs 90.0% of 1000 launches"
    ), text


def the_least_of_all_runs_counts():
    """Each run is slower than the one before it; the first is one without gpushim, as is the last."""
    count = 'echo >> "$0.$1"; [ "$2" = check ] || ms=$(wc -l < "$0.$1").0'
    verdict, text = outcome(count)
    assert verdict == "ok" and "plain 2.000 ms a step (A/A 0.333x), default 0.667x, thread 0.500x, graph 0.400x" in text, text


def a_result_that_differs_is_a_failure():
    for setting in ("submit:thread", GRAPH):
        verdict, text = outcome(f'[ $1 = one ] || [ "$setting" != {setting} ] || hash=f')
        assert verdict == "FAIL" and text.startswith("two: ") and "instead of ['ok two 0123456789abcdef']" in text, text
        assert "one           same" in text and "two           WRONG" in text, text


def one_run_of_two_that_differs_is_a_failure():
    verdict, text = outcome(f'[ "$setting" != {GRAPH} ] || [ -e "$0.$1" ] || {{ : > "$0.$1"; hash=f; }}')
    assert verdict == "FAIL" and "one: graph: ['ok one f', 'ok one 0123456789abcdef']" in text, text


def runs_without_gpushim_that_differ_are_a_failure():
    verdict, text = outcome('[ -n "$setting" ] || hash=$$')
    assert verdict == "FAIL" and "one: the control failed" in text, text


def what_is_slower_is_said_and_no_failure():
    verdict, text = outcome('[ $1 = one ] || [ "$setting" != submit:thread ] || ms=10.2')
    assert verdict == "ok" and text.startswith("below the bar: two thread 0.980x instead of 0.99x\none "), text
    assert outcome('[ "$setting" != submit:thread ] || ms=10.05')[1].startswith("one ")


def a_program_that_breaks_or_is_wrong_by_itself_is_a_failure():
    verdict, text = outcome(f'[ "$setting" != {GRAPH} ] || kill -SEGV $$')
    assert verdict == "FAIL" and "one: graph: launch_bound one was killed by SIGSEGV" in text, text
    assert "graph -" in text and "thread 1.000x" in text, text
    verdict, text = outcome('[ "$2" != check ] || exit 1')
    assert verdict == "FAIL" and "one: plain: launch_bound one check ended with status 1" in text, text
    verdict, text = outcome('[ "$2" = check ] || exit 0')
    assert verdict == "FAIL" and "one: plain: launch_bound one ended with status 0" in text, text


def what_is_absent_is_skipped():
    verdict, text = outcome("[ $1 = one ] || { echo absent cublas; exit 77; }")
    assert verdict == "ok" and "one           same" in text and "two           absent: cublas" in text, text
    assert outcome("echo absent cublas; exit 77")[0] == "skip"
    saved, machine.BUILD = machine.BUILD, "/nowhere"
    try:
        launch_bound_rows.launch_bound(None)
    except machine.Skipped as reason:
        assert str(reason) == "absent: not-built"
        return
    finally:
        machine.BUILD = saved
    raise AssertionError("was not skipped")


def the_program_knows_its_names():
    path = os.path.join(BUILD, "gpu", "launch_bound")
    if not os.path.exists(path):
        return "SKIP there is no nvcc"
    names = subprocess.run([path], capture_output=True, text=True, timeout=60, check=True).stdout.split()
    asked = "stencil runge-kutta lu wavefront n-body sort gradients".split()
    assert len(names) == len(set(names)) >= 12 and set(asked) <= set(names), names
    for words in (["nothing"], ["lu", "0"], ["lu", "-1"], ["lu", "3x"], ["lu", "3", "4"]):
        run = subprocess.run([path, *words], capture_output=True, text=True, timeout=60)
        assert run.returncode == 2 and run.stderr.startswith("usage: ") and run.stderr.count("\n") == 1, run
    return None


TESTS = [
    equal_results_hold_with_times_and_shares,
    the_least_of_all_runs_counts,
    a_result_that_differs_is_a_failure,
    one_run_of_two_that_differs_is_a_failure,
    runs_without_gpushim_that_differ_are_a_failure,
    what_is_slower_is_said_and_no_failure,
    a_program_that_breaks_or_is_wrong_by_itself_is_a_failure,
    what_is_absent_is_skipped,
    the_program_knows_its_names,
]


if __name__ == "__main__":
    sys.exit(cases.run(TESTS))
