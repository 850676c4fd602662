#!/bin/bash
# CUDA runtimes 12 and 13, alone and in one process: symbols with versions are intercepted, and each caller reaches the
# runtime that it is linked to.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
programs=$BUILD/tests/preload
export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder
sim() { "$TOP/scripts/sim-run" --build "$BUILD" "$@" 2>/dev/null; }

calls() { # calls NAME: of the function, by the newest snapshot
	python3 -c '
import json, sys
functions = json.load(open(sys.argv[2]))["functions"]
print(sum(f["calls"] for f in functions if f["name"] == sys.argv[1]))' "$1" "$(find "$folder" -name '*.json')"
}

for program in rt_version rt12_version; do
	plain=$(sim --no-shim "$programs/$program")
	guest=$(sim "$programs/$program")
	is "$program: as without the shim" "$guest" "$plain"
	is "$program: cudaFree was intercepted" "$(calls cudaFree)" 2
	rm -f "$folder"/*
done
like 'rt12_version reaches 12' "$guest" 'version 12,'

for order in rt12_count:rt_count rt_count:rt12_count; do
	libraries=("$programs/lib_${order%:*}.so" "$programs/lib_${order#*:}.so")
	plain=$(sim --no-shim "$programs/dl_both" "${libraries[@]}")
	guest=$(sim "$programs/dl_both" "${libraries[@]}")
	is "$order: as without the shim" "$guest" "$plain"
	is "$order: cudaFree was intercepted in both" "$(calls cudaFree)" 5
	rm -f "$folder"/*
done
like 'both versions are there (H26)' "$guest" 'versions 13 12'
like 'an error stays in its runtime' "$guest" "second fails 1, first's last error 0, second's 1"

turns=()
for number in 1 2 3 4 5 6 7; do
	cp "$programs/lib_rt_count.so" "$folder/lib_$number.so" && turns+=("$folder/lib_$number.so")
done
export LD_LIBRARY_PATH=$BUILD/sim
like 'libraries that call by turns: each is looked up once' \
	"$(GPUSHIM_ALLOC_CONF=snapshot:off,stacks:off sim "$programs/dl_turns" "${turns[@]}" "$programs/lib_rt12_count.so")" \
	'^0 errors; [1-9][0-9]* walks at first, 0 in 1000 turns'
rm -rf "$folder"
done_testing
