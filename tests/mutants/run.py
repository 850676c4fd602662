#!/usr/bin/env python3
"""Planted bugs are caught: builds each mutant and puts it to its checks until one fails.

    tests/mutants/run.py [--only PATTERN] [--hand] [--generated] [--sample] [--list] [--quick]

--list only shows them, and whether each applies; --quick leaves long checks out for the generated ones. Otherwise
prints a row for each mutant as it is done, and at last "N mutants, N caught". Ends with 0 if all that are not known to
be equivalent were caught, with 1 if one was not, with 2 if a mutant does not apply or build, or if a check
fails without one (it then counts for nothing). Wants `make all` to be done; `make mutants` does both."""
import argparse
import fnmatch
import sys
import threading
import time

import generate
import hand
from checks import Checks, seed_of
from row import Row
from tree import TOP, BuildError, Tree

SAMPLE = ["free-is-idle-at-once", "lock-order-inverted", "replay-stale-argument"]


class Control:
    """The checks without a mutant. A failure counts only if the same check passes here, which is asked once; one that
    passes on any mutant passes."""

    def __init__(self, name):
        self.tree = Tree(name)
        self.checks = Checks(self.tree.build)
        self.passed = {}
        self.bad = []
        self.lock = threading.Lock()
        self.tree.sync()
        self.tree.make_shim()

    def confirm(self, text):
        with self.lock:
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


def run_hand(mutants, control):
    tree = Tree("hand")
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
        except BuildError as error:
            raise ValueError("%s does not build:\n%s" % (mutant.name, error)) from error
        rows.append(Row(mutant.name + (" (victim)" if mutant.is_victim else ""), caught,
                        seed_of(caught) if caught else "-", time.monotonic() - start, why))
        rows[-1].show()
    tree.sync()
    return rows


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
    options = parser.parse_args()
    both = options.hand == options.generated
    patterns = SAMPLE if options.sample else [options.only]
    rows, controls = [], []

    try:
        if options.list:
            show_list()
            return
        mutants = [mutant for mutant in hand.read() if any(fnmatch.fnmatch(mutant.name, p) for p in patterns)]
        if mutants and (both or options.hand):
            controls.append(Control("hand-control"))
            rows += run_hand(mutants, controls[-1])
        if not options.sample and (both or options.generated):
            controls.append(Control("generated-control"))
            rows += generate.run(options.only, controls[-1], options.quick)
    except ValueError as error:
        print(error)
        sys.exit(2)
    if not rows:
        sys.exit("no mutant of that name")
    missed = [row for row in rows if not row.caught]
    equivalent = [row for row in rows if row.caught == "equivalent"]
    if equivalent:
        print("%d are equivalent to no mutant, as equivalent.txt says" % len(equivalent))
    print("%d mutants, %d caught" % (len(rows) - len(equivalent), len(rows) - len(equivalent) - len(missed)))
    if any(control.bad for control in controls):
        sys.exit(2)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
