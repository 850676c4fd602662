#!/bin/bash
# slow
# The demo on the simulated GPU: its results are right with and without the shim, and its snapshot can be read.
. "$TOP/tests/lib/tap.sh"

demo=$BUILD/tests/preload/rt_demo
folder=$(mktemp -d)

for program in "$demo" "$BUILD/tests/preload/rt12_demo"; do
	name=${program##*/}
	output=$("$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$program" 2>&1)
	is "$name alone" "$?:$output" '0:demo: results are right'
	export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/$name
	mkdir "$folder/$name"
	output=$("$TOP/scripts/sim-run" --build "$BUILD" "$program" 2>"$folder/$name.err")
	is "$name under the shim" "$?:$output" '0:demo: results are right'
	ok "$name: one snapshot" test "$(find "$folder/$name" -name 'gpushim.*.json' | wc -l)" = 1
	is "$name: at most one line on stderr" "$(($(wc -l <"$folder/$name.err") > 1))" 0
done

snapshot=$(echo "$folder"/rt_demo/gpushim.*.json)
output=$("$BUILD/gpushim-report" summary "$snapshot" 2>&1)
ok 'summary reads it' test $? -le 1
output=$("$BUILD/gpushim-report" top "$snapshot" 2>&1)
ok 'top reads it' test $? -le 1
like 'top names the function that holds the memory' "$output" 'load_weights'
rm -rf "$folder"
done_testing
