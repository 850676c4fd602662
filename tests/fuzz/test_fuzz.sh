#!/bin/bash
# timeout 280
# The fuzz targets on their seeds, on what fuzzing has found before, and on a fixed number of mutations: SEED=N for
# another sequence, SECONDS_EACH=N for as long as that.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
ok 'seeds' tests/fuzz/seeds "$folder/seeds"
for target in conf:20000 snapshot:4000 recover:4000 import:3000 trace:20000; do
	name=${target%:*}
	amount=${SECONDS_EACH:-x${target#*:}}
	output=$("$BUILD/tests/fuzz/fuzz_$name" "$amount" "${SEED:-1}" "$folder/kept" "$folder/seeds/$name"/* 2>&1)
	status=$?
	# The length of the input at work is behind the room for the longest one.
	length=$(od -A n -t u8 -j $((262144 + 8)) -N 8 "$folder/kept" | tr -d ' ')
	tap_result $status "$name: $(tail -n 1 <<<"$output" | cut -c 1-80)" "$output
the input: $(head -c "${length:-0}" "$folder/kept" | head -c 4000 | cat -v)"
done
done_testing
