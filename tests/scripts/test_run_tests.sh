#!/bin/bash
# slow
# The test runner: what it counts, what it calls a failure, and its last line.
. "$TOP/tests/lib/tap.sh"

tree=$(mktemp -d)
mkdir -p "$tree/scripts" "$tree/tests/a" "$tree/build/tests/unit" "$tree/build/tests/model" "$tree/build/asan/tests/unit"
cp "$TOP/scripts/run-tests" "$tree/scripts/"

program() { # program PATH: a test program with the text of stdin
	{ echo '#!/bin/sh' && cat; } >"$tree/$1"
	chmod +x "$tree/$1"
}

run() { # run ARGUMENT..: output in $output, status in $status, last line in $last
	output=$("$tree/scripts/run-tests" "$@" 2>&1)
	status=$?
	last=${output##*$'\n'}
}

alone() { # alone NAME LAST STATUS SAYS: the program of stdin alone
	program tests/a/test_alone.sh
	run test_alone
	is "$1: last line" "$last" "$2"
	is "$1: status" $status "$3"
	like "$1: says why" "$output" "$4"
}

run
is 'nothing to run: last line' "$last" '0 passed, 0 failed'
is 'nothing to run is no success' $status 1

alone 'all is well' '2 passed, 0 failed' 0 '^ok +tests/a/test_alone.sh' <<<'echo 1..2; echo ok 1 - a; echo ok 2'
alone 'a plan at the end' '1 passed, 0 failed' 0 '^ok' <<<'echo ok 1; echo 1..1'
alone 'a failure' '1 passed, 1 failed' 1 'FAIL.*1 failed.*not ok 2 - why' <<<'echo 1..2; echo ok 1; echo not ok 2 - why; exit 1'
alone 'a skip' '1 passed, 0 failed, 1 skipped' 0 'skipped: tests/a/test_alone.sh: ok 2 - b # SKIP no gpu' \
	<<<'echo 1..2; echo ok 1; echo "ok 2 - b # SKIP no gpu"'
alone 'all skipped' '0 passed, 0 failed, 1 skipped' 1 '# SKIP not here' <<<'echo "1..0 # SKIP not here"'
alone 'no plan' '1 passed, 1 failed' 1 'printed no plan' <<<'echo ok 1'
alone 'two plans' '1 passed, 1 failed' 1 'more than one plan' <<<'echo 1..1; echo ok 1; echo 1..1'
alone 'too few' '1 passed, 1 failed' 1 'planned 2 tests and ran 1' <<<'echo 1..2; echo ok 1'
alone 'too many' '2 passed, 1 failed' 1 'planned 1 tests and ran 2' <<<'echo 1..1; echo ok 1; echo ok 2'
alone 'a status' '1 passed, 1 failed' 1 'ended with status 3' <<<'echo 1..1; echo ok 1; exit 3'
alone 'a signal' '1 passed, 1 failed' 1 'died of signal 11' <<<'echo 1..1; echo ok 1; kill -SEGV $$'
alone 'bail out' '0 passed, 1 failed' 1 'Bail out! too hot' <<<'echo "Bail out! too hot"'
alone 'a timeout' '1 passed, 1 failed' 1 'timed out after 1 s' <<<'# timeout 1
echo 1..1; echo ok 1; sleep 20'
alone 'its environment' '4 passed, 0 failed' 0 '^ok' <<'SCRIPT'
echo 1..4
[ "$BUILD" = "$PWD/build" ] && echo ok 1
[ "$TOP" = "$PWD" ] && echo ok 2
[ -d "$TMPDIR" ] && [ -z "$(ls -A "$TMPDIR")" ] && touch "$TMPDIR/left" && echo ok 3
[ -z "$GPUSHIM_ALLOC_CONF$LD_PRELOAD" ] && echo ok 4
SCRIPT

chmod -x "$tree/tests/a/test_alone.sh"
run
is 'not executable is a failure' "$last" '0 passed, 1 failed'
rm "$tree/tests/a/test_alone.sh"

program build/tests/unit/test_one <<<'echo 1..1; echo ok 1'
program build/tests/model/test_two <<<'echo 1..1; echo ok 1'
touch "$tree/build/tests/unit/test_one.d"
program tests/a/test_slow.py <<<'# slow
echo 1..1; echo ok 1'
program tests/a/test_both.sh <<<'# sanitizers
echo 1..1; echo ok 1; [ "$BUILD" != "${BUILD%asan}" ] && exit 9; exit 0'
program tests/a/test_other.sh <<<'# sanitizers ubsan
echo 1..1; echo ok 1; [ "$BUILD" != "${BUILD%asan}" ] && exit 9; exit 0'
program build/asan/tests/unit/test_one <<<'echo 1..1; echo not ok 1; exit 1'
run
is 'programs and scripts are found' "$last" '5 passed, 0 failed'
run --quick
is '--quick leaves slow ones out' "$last" '4 passed, 0 failed'
run --build build/asan
is '--build takes that folder, and the scripts that want it' "$last" '1 passed, 2 failed'
run unit model
is 'names choose' "$last" '2 passed, 0 failed'
run --nonsense
is 'a bad option: status' $status 2

ok 'nothing is left behind' sh -c '! ls -d "$TMPDIR"/gpushim-tests.* 2>/dev/null'
rm -rf "$tree"
done_testing
