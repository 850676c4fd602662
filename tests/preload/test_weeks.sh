#!/bin/bash
# A process that runs for weeks: what it makes and ends again and again leaves nothing behind in the shim.
. "$TOP/tests/lib/tap.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off,history:0

grows() { # grows KIND ROUNDS KIB: by no more than that from the first tenth of the rounds to the last
	local output grown
	output=$("$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/preload/drv_weeks" "$1" "$2" 2>&1)
	grown=$(sed -n 's/^last to first: .* slow, \(-\{0,1\}[0-9]*\) KiB more.*/\1/p' <<<"$output")
	ok "$1: $2 rounds, ${grown:-?} KiB" test "${grown:-999999}" -le "$3"
}

grows thread_in_crowd 1500 4096

# After any number of streams it is still known when there is nothing left to wait for.
folder=$(mktemp -d)
for kind in stream blocking_stream stream_left thread_stream; do
	GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/$kind,history:0 "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/preload/drv_weeks" $kind 300 \
		>"$folder/output" 2>&1
	is "$kind: a wait for nothing is known for one" "$(python3 -c '
import glob, json, sys
waits = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))["waits"]
print(waits["clear"][-1], waits["drained"][-2])' "$folder/$kind")" '1 1'
done
rm -rf "$folder"
done_testing
