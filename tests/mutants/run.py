#!/usr/bin/env python3
"""Planted bugs are caught: builds each mutant and puts it to its checks until one fails.

    tests/mutants/run.py [--only PATTERN] [--hand] [--generated] [--sample] [--list] [--quick]
                         [--prepare | --built] [--jobs N] [--limit SECONDS] [--after FILE] [--first FILE]

--list only shows them, and whether each applies. Otherwise prints a row for each mutant as it is done, and at last
"N mutants, N caught". Ends with 0 if all that are not known to be equivalent were caught, with 1 if one was not or is
not finished, with 2 if a mutant does not apply or build, or if a check fails without one (it then counts for nothing).
Wants `make all` to be done; `make mutants` does both.

Of the generated ones, --jobs N checks N at a time (default: as many as there are processors) and --quick leaves long
checks out. They alone can be checked on another machine, without a compiler: --prepare builds all that they need and checks
none; --built takes a copy of the sources and of build/ as it is, and builds nothing; races are looked for only where neither
is asked for. --limit ends all checks when
SECONDS have passed; --after leaves out the mutants that a table printed earlier has settled; --first begins with the check
that caught a mutant as such a table says."""
import argparse
import fnmatch
import os
import sys
import threading
import time

import generate
import hand
from checks import Checks, OutOfTime, seed_of
from row import EQUIVALENT, UNFINISHED, Row, caught_by, settled
from tree import TOP, BuildError, Tree

SAMPLE = ["free-is-idle-at-once", "lock-order-inverted", "replay-stale-argument"]


class Control:
    """The checks without a mutant. A failure counts only if the same check passes here, which is asked once; one that
    passes on any mutant passes."""

    def __init__(self, tree):
        self.tree = tree
        self.checks = Checks(tree.build)
        self.passed = {}
        self.bad = []
        self.lock = threading.Lock()
        self.locks = {}

    def confirm(self, text):
        with self.lock:
            lock = self.locks.setdefault(text, threading.Lock())
        with lock:
            if text not in self.passed:
                self.tree.prepare(text)
                self.passed[text] = self.checks.run(text)
                if not self.passed[text].passed:
                    self.bad.append("control: %s fails without a mutant: %s" % (text, self.passed[text].why))
                    print(self.bad[-1], flush=True)
        return self.passed[text].passed


def try_checks(tree, checks, texts, control):
    """The first check that fails, and why."""
    for text in texts:
        tree.prepare(text)
        verdict = checks.run(text)
        if not verdict.passed and control.confirm(text):
            return text, verdict.why
    return None, "all %d checks passed" % len(texts)


def run_hand(mutants):
    tree = Tree("hand")
    control = Control(Tree("hand-control"))
    control.tree.sync()
    control.tree.make_shim()
    checks = Checks(tree.build)
    checks.expected = control.checks.expected
    rows = []
    for mutant in mutants:
        start = time.monotonic()
        tree.sync()
        tree.write(mutant.file, mutant.mutated(tree.root))
        try:
            if not mutant.is_victim:
                tree.make_shim()
            caught, why = try_checks(tree, checks, mutant.checks, control)
        except OutOfTime:
            caught, why = UNFINISHED, ""
        except BuildError as error:
            raise ValueError("%s does not build:\n%s" % (mutant.name, error)) from error
        rows.append(Row(mutant.name + (" (victim)" if mutant.is_victim else ""), caught,
                        seed_of(caught) if caught else "-", time.monotonic() - start, why))
        rows[-1].show()
    tree.sync()
    return rows, control


def run_generated(options):
    tree, numbers = generate.build(options.built)
    names = [name for name in numbers if fnmatch.fnmatchcase(name, options.only)]
    if options.after:
        done = settled(options.after, names)
        names = [name for name in names if name not in done]
    ladders = {name: [text for text in generate.ladder(name) if not (options.quick and generate.is_long(text))]
               for name in names}
    known = caught_by(options.first, names) if options.first else {}
    if not (options.prepare or options.built):
        ladders = {name: texts + generate.races(name) for name, texts in ladders.items()}
    for text in dict.fromkeys(text for texts in ladders.values() for text in texts):
        tree.prepare(text)
    control = Control(tree)
    if options.prepare:
        return [], control
    trials = [generate.Trial(name, numbers[name], texts, control) for name, texts in ladders.items()]
    for trial in trials:
        trial.known = known.get(trial.name) if known.get(trial.name) in trial.texts else None
    return generate.run(trials, options.jobs), control


def show_list():
    for mutant in hand.read():
        mutant.mutated(TOP)
        print("%-44s %s" % (mutant.name, mutant.models))
    kinds = {}
    for name in generate.mutants()[1]:
        kinds.setdefault(name.split(":")[0], []).append(name)
    for kind, names in kinds.items():
        print("%-44s %d generated" % (kind, len(names)))


def main():
    parser = argparse.ArgumentParser(description="Planted bugs are caught.")
    parser.add_argument("--only", default="*")
    parser.add_argument("--hand", action="store_true")
    parser.add_argument("--generated", action="store_true")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--after")
    parser.add_argument("--first")
    options = parser.parse_args()
    hands = options.hand or options.sample or not options.generated
    generated = options.generated or not (options.hand or options.sample)
    if options.prepare or options.built:
        hands, generated = False, True
    patterns = SAMPLE if options.sample else [options.only]
    rows, controls = [], []
    Checks.deadline = time.monotonic() + options.limit

    try:
        if options.list:
            show_list()
            return
        mutants = [mutant for mutant in hand.read() if any(fnmatch.fnmatch(mutant.name, p) for p in patterns)]
        if hands and mutants:
            made, control = run_hand(mutants)
            rows += made
            controls.append(control)
        if generated:
            made, control = run_generated(options)
            rows += made
            controls.append(control)
    except ValueError as error:
        print(error)
        sys.exit(2)
    if options.prepare:
        return
    if not rows:
        sys.exit("no mutant of that name")
    missed = [row for row in rows if row.caught is None]
    unfinished = [row for row in rows if row.caught == UNFINISHED]
    equivalent = [row for row in rows if row.caught == EQUIVALENT]
    if equivalent:
        print("%d are equivalent to no mutant, as equivalent.txt says" % len(equivalent))
    if unfinished:
        print("%d are not finished" % len(unfinished))
    count = len(rows) - len(equivalent) - len(unfinished)
    print("%d mutants, %d caught" % (count, count - len(missed)))
    if any(control.bad for control in controls):
        sys.exit(2)
    sys.exit(1 if missed or unfinished else 0)


if __name__ == "__main__":
    main()
