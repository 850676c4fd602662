#!/usr/bin/env python3
"""The rows about submit:thread and graph:auto, as far as they can be tried without a GPU: what they say of made-up outcomes, and
programs that are timed by turns. TAP."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))

import cases
from gpucheck import machine, replay_rows, rows

TOLD = {
    "submit": [
        {"kind": "put_off", "name": "launches", "text": "", "count": 960, "host_ns": 0},
        {"kind": "put_off", "name": "copies", "text": "", "count": 500, "host_ns": 0},
        {"kind": "at_once", "name": "not_seen_before", "text": "", "count": 40, "host_ns": 0},
    ],
    "graph": [
        {"kind": "figure", "name": "replayed", "text": "", "count": 900},
        {"kind": "plain", "name": "flush", "text": "", "count": 10},
        {"kind": "plain", "name": "no_trace", "text": "", "count": 50},
        {"kind": "fall", "name": "flush", "text": "", "count": 3},
    ],
}


def failure_of(function, *arguments):
    try:
        function(*arguments)
    except machine.Failed as failure:
        return str(failure)
    raise AssertionError("did not fail")


def program(name="loop", **named):
    return replay_rows.Program(name, ["loop"], 1, **named)


def outcome(results=None, told=TOLD, **milliseconds):
    """All alike, but for what is given."""
    made = replay_rows.Outcome()
    for setting in replay_rows.SETTINGS:
        least = milliseconds.get(setting, 10.0) / 1e3
        made.seconds[setting] = [2 * least, least, 3 * least]
        made.results[setting] = (results or {}).get(setting, ["ok loop 1234"])
    made.told["graph"] = told
    return made


def equal_results_hold_and_minima_are_compared():
    text = replay_rows.judged({program(aims={"graph": 2.8}): outcome(graph=2.5, thread=8, control=10.1)})
    assert "loop          same; plain 10.000 ms a step (A/A 0.990x), default 1.000x, thread 1.250x, graph 4.000x" in text, text
    assert "below" not in text, text
    made = outcome()
    made.launches = 4000
    assert "plain 2500 ns a launch" in replay_rows.judged({program(): made})


def a_result_that_differs_is_a_failure():
    for setting in ("default", "thread", "graph"):
        text = failure_of(replay_rows.judged, {program(): outcome({setting: ["ok loop 1235"]}), program("other"): outcome()})
        assert text.split("\n")[0] == f"loop: {setting}: ['ok loop 1235'] instead of ['ok loop 1234']", text
        assert failure_of(replay_rows.judged, {program(repeats=False): outcome({setting: ["ok loop 1235"]})})
    assert "graph: []" in failure_of(replay_rows.judged, {program(): outcome({"graph": []})})
    assert "no result" in failure_of(replay_rows.judged, {program(): outcome(dict.fromkeys(replay_rows.SETTINGS, []))})


def without_a_control_there_is_no_verdict():
    made = outcome({"control": ["ok loop 1235"]})
    assert "the control failed" in failure_of(replay_rows.judged, {program(): made})
    text = replay_rows.judged({program(repeats=False): made})
    assert "no verdict on the results" in text and "same" not in text, text


def an_aim_that_was_missed_is_said_and_no_failure():
    text = replay_rows.judged({program(aims={"graph": 2.8}): outcome(graph=5, thread=10.5)}, ["more"])
    assert text.startswith("below the bar: more; loop thread 0.952x instead of 0.99x; loop graph 2.000x instead of 2.8x\n"), text
    hand, constant = program("hand-graph"), program("constant")
    said = replay_rows.beside_hand_graph({hand: outcome(plain=4), constant: outcome(graph=5)})
    assert said == ["constant under graph 0.800 of the hand-written graph instead of 0.95"], said
    assert not replay_rows.beside_hand_graph({hand: outcome(plain=4), constant: outcome(graph=4.1)})
    assert replay_rows.not_slower_than_thread({program(): outcome(thread=4, graph=5)})
    assert not replay_rows.not_slower_than_thread({program(): outcome(thread=4, graph=4)})


def the_share_of_graphs_counts_all_launches():
    text = replay_rows.share_text(TOLD)
    assert text == "graphs 90.0% of 1000 launches; rest no_trace 50, not_seen_before (at once) 40, flush 10", text
    assert replay_rows.share_text({"submit": [], "graph": []}) == "nothing was put off"


SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
import turns
steps = []
turns.run(lambda: steps.append(1), 5)
print("ok steps", len(steps))
"""


def programs_run_by_turns_and_come_to_their_ends():
    command = [sys.executable, "-c", SERVE, os.path.join(ROOT, "tests", "gpu")]
    saved, machine.SHIM = machine.SHIM, ""
    told, replay_rows.told_by_report = replay_rows.told_by_report, lambda folder: os.listdir(folder) and TOLD
    check = rows.Check()
    try:
        serving = replay_rows.Program("serving", command + ["--turns"], 2)
        found = replay_rows.run_programs(check, [serving], rounds=3)[serving]
        assert all(len(seconds) == 6 and min(seconds) >= 0 for seconds in found.seconds.values()), found.seconds
        assert set(map(tuple, found.results.values())) == {("ok steps 9",)}, found.results
        assert set(found.told) == {"default", "thread", "graph"}, found.told
        alone = check.run(command, shim=False)
        assert alone.lines("ok steps 9") and len(alone.lines("ms ")[0].split()) == 3, alone.output
    finally:
        check.workplace.close()
        machine.SHIM, replay_rows.told_by_report = saved, told


def one_that_breaks_is_named_and_the_others_are_measured():
    broken = """
import os
if os.environ.get("GPUSHIM_ALLOC_CONF") == sys.argv[2]:
    sys.exit(3)
"""
    saved, machine.SHIM = machine.SHIM, ""
    told, replay_rows.told_by_report = replay_rows.told_by_report, lambda folder: TOLD
    check = rows.Check()
    path = os.path.join(check.workplace.folder, "broken.py")
    command = [sys.executable, path, os.path.join(ROOT, "tests", "gpu"), replay_rows.GRAPH, "--turns"]
    try:
        for place in ("import turns", "print("):
            with open(path, "w", encoding="utf-8") as file:
                file.write(SERVE.replace(place, broken + place))
            outcomes = replay_rows.run_programs(check, [replay_rows.Program("broken", command, 2)], 1)
            text = failure_of(replay_rows.judged, outcomes).split("\n")
            assert text[0].startswith("broken: graph: ") and "status 3" in text[0], text
            shown = next(line for line in text if line.startswith("broken        WRONG; plain"))
            assert "graph -" in shown and "thread -" not in shown, shown
    finally:
        check.workplace.close()
        machine.SHIM, replay_rows.told_by_report = saved, told


def what_is_not_there_is_skipped():
    check = rows.Check()
    absent = [sys.executable, "-c", "print('absent torch'); raise SystemExit(77)"]
    programs = [replay_rows.Program("a", ["/nowhere/loops"], 1), replay_rows.Program("b", absent, 1)]
    try:
        outcomes = replay_rows.run_programs(check, programs, 1)
        assert [outcomes[one].absent for one in programs] == ["absent: not-built", "absent: torch"]
        try:
            replay_rows.judged(outcomes)
        except machine.Skipped:
            outcomes[program()] = outcome()
            assert "a             absent: not-built" in replay_rows.judged(outcomes)
            return
        raise AssertionError("was not skipped")
    finally:
        check.workplace.close()


TESTS = [
    equal_results_hold_and_minima_are_compared,
    a_result_that_differs_is_a_failure,
    without_a_control_there_is_no_verdict,
    an_aim_that_was_missed_is_said_and_no_failure,
    the_share_of_graphs_counts_all_launches,
    programs_run_by_turns_and_come_to_their_ends,
    one_that_breaks_is_named_and_the_others_are_measured,
    what_is_not_there_is_skipped,
]


if __name__ == "__main__":
    sys.exit(cases.run(TESTS))
