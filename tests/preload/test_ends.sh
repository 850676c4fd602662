#!/bin/bash
# Threads that are cancelled or end with calls, processes that were forked behind libc's back.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
program=$BUILD/tests/preload/rt_ends
export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder
sim() { timeout 30 "$TOP/scripts/sim-run" "$@" 2>/dev/null; }

for way in cancel child storm; do
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
rm -rf "$folder"
done_testing
