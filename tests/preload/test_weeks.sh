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
# The newest launches and the tables of a thread take half a MiB before they are full.
for kind in stream blocking_stream stream_left event graph host registered; do
	grows $kind 8000 1024
done
grows size 20000 1024
for kind in thread pool context; do
	grows $kind 2000 1024
done

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

# Who looks for hazards is told when that ends, and it does not where each stream is waited for.
for kind in stream stream_left; do
	is "$kind: hazards are looked for" "$(GPUSHIM_ALLOC_CONF=snapshot:off,hazards:on "$TOP/scripts/sim-run" --build "$BUILD" \
		"$BUILD/tests/preload/drv_weeks" $kind 300 2>&1 | grep -c 'hazards are no longer looked for')" "$([ $kind = stream ]; echo $?)"
done

# Nor is anything alive that has died with its context.
declare -A of_driver=([vmm]=0 [cudamalloc]=3 [off]=4)
for backend in vmm cudamalloc off; do
	GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/$backend,backend:$backend "$TOP/scripts/sim-run" --build "$BUILD" \
		"$BUILD/tests/preload/drv_weeks" context 100 >"$folder/output" 2>&1
	is "$backend: only what was allocated in a context that lives" "$(python3 -c '
import glob, json, sys
snapshot = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))
types, frees = snapshot["events"]["type_names"], {}
for event in snapshot["events"]["type"]:
    frees[types[event]] = frees.get(types[event], 0) + 1
print(len(snapshot["live"]["address"]) + snapshot["blocks"]["state"].count(snapshot["blocks"]["state_names"].index("live")),
      *(frees.get(kind + "_alloc", 0) - frees.get(kind + "_free", 0) for kind in ("driver", "host")))' "$folder/$backend")" \
		"4 ${of_driver[$backend]} 0"
done
rm -rf "$folder"
done_testing
