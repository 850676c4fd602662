#!/bin/bash
# The machinery of `make mutants` is alive: a few of the mutants made by hand are built and
# caught, and each of the others still applies. The generated ones are for `make mutants` alone.
# timeout 240
. "$TOP/tests/lib/tap.sh"

ok 'every mutant made by hand applies' "$TOP/tests/mutants/run.py" --list
output=$("$TOP/tests/mutants/run.py" --sample 2>&1)
status=$?
is 'a sample of them is caught' "$status:$(tail -n 1 <<<"$output")" '0:3 mutants, 3 caught'
[ $status = 0 ] || sed 's/^/# /' <<<"$output"
done_testing
