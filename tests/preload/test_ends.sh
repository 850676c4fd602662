#!/bin/bash
# sanitizers asan ubsan
# Threads that are cancelled or end with calls, processes that were forked behind libc's back, and what the last line
# on stderr must not do.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
program=$BUILD/tests/preload/rt_ends
export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder
sim() { timeout 30 "$TOP/scripts/sim-run" --build "$BUILD" "$@" 2>/dev/null; }

for way in cancel child forked storm; do
	plain=$(sim --no-shim "$program" $way)
	is "$way: as without the shim" "$(sim "$program" $way)" "$plain"
	like "$way: it did its work" "$plain" '^(malloc 0, free 0, too much 2, cancelled|child 5|1600 allocations)$'
	is "$way: one snapshot at the end" "$(find "$folder" -name '*.json' ! -name '*.oom.json' | wc -l)" 1
	[ $way = storm ] || rm -f "$folder"/*
done
is 'storm: every call was counted' "$(python3 -c '
import glob, json, sys
functions = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))["functions"]
print([sum(f["calls"] for f in functions if f["name"] == name) for name in ("cudaMalloc", "cudaFree")])' "$folder")" \
	'[1600, 1600]'

is 'a fork during the first call of another thread: the child is as new' \
	"$(sim "$BUILD/tests/preload/drv_first_fork"; echo $?)" $'child well, parent 0\n0'

# What is printed at the end harms nobody: a pipe that nobody reads, a limit of the file size, a file with the number 2.
rm -f "$folder"/*
mkfifo "$folder/pipe"
exec 4<>"$folder/pipe" 5>"$folder/pipe" 4<&-
is 'a closed pipe as stderr: no signal' "$("$TOP/scripts/sim-run" --build "$BUILD" "$program" plain 2>&5; echo $?)" $'one allocation\n5'
exec 5>&-
is 'it got its snapshot' "$(find "$folder" -name '*.json' | wc -l)" 1
rm -f "$folder"/*.json
head -c 1000 /dev/zero >"$folder/errors"
is 'a limit of the file size: no signal' "$("$TOP/scripts/sim-run" --build "$BUILD" "$program" limit 2>>"$folder/errors"; echo $?)" \
	$'one allocation\n5'
is 'a snapshot above the limit leaves nothing' "$(find "$folder" -name '*gpushim.*' | wc -l)" 0
is 'a file with the number of stderr' "$("$TOP/scripts/sim-run" --build "$BUILD" "$program" taken "$folder/data"; echo $?)" \
	$'one allocation\n5'
is 'nothing is printed into it' "$(cat "$folder/data")" data
rm -rf "$folder"
done_testing
