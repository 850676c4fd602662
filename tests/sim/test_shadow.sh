#!/bin/bash
# Shadow ownership in the simulated driver: planted misuse is seen, and what only looks like it is not.
. "$TOP/tests/lib/tap.sh"

shadow() { # shadow OPTION.. WHAT: what rt_shadow says; $status
	output=$(GPUSHIM_ALLOC_CONF=snapshot:off timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "${@:1:$#-1}" \
		"$BUILD/tests/preload/rt_shadow" "${!#}" 2>&1)
	status=$?
}

touches='touches \[0x[0-9a-f]+, \+4096\) of'
from='^gpushim-sim: shadow: '

for shim in '' --no-shim; do
	# shellcheck disable=SC2086
	for what in same-stream ordered beside pinned-done smaller-owner; do
		shadow $shim --seed 5 $what
		is "$what is in order ${shim:-with the shim}" "$status:$output" '0:0 errors'
	done
	shadow $shim --seed 5 other-stream
	like "other-stream is seen ${shim:-with the shim}" "$output" \
		"${from}kernel 2 of stream [0-9]+ $touches owner 1, still queued as owner 2 gets it for stream [0-9]+ \(policy late, seed 5, build .*; again: SIM_POLICY=late SIM_SEED=5\)
gpushim-sim:   it was queued, at call [0-9]+ \(cuLaunchKernel\) of thread 1:
.*     hand_out.* in rt_shadow.*
gpushim-sim:   it is handed out again, at call [0-9]+ .*
.*     hand_out.* in rt_shadow.*
1 errors$"
	is 'and is the status' $status 86
	shadow $shim any-stream
	like "any-stream is seen ${shim:-with the shim}" "$output" "owner 1, still queued as owner 2 gets it for any stream"
	for what in pinned-read pinned-written; do
		shadow $shim $what
		like "$what is seen ${shim:-with the shim}" "$output" \
			"${from}copy 2 of stream [0-9]+ $touches owner 2, still queued as owner 3 gets it for any stream"
	done
	shadow $shim --seed 5 late-across
	like "late-across is seen ${shim:-with the shim}" "$output" \
		"${from}memset 2 of stream [0-9]+ touches .* of owner 1, and runs after work of its new owner 2"
	shadow $shim overlap
	is "overlap is seen ${shim:-with the shim}" "$status" 86
	for policy in late in-order random; do
		shadow $shim --policy $policy use-after-free
		like "use-after-free is seen, $policy ${shim:-with the shim}" "$status:$output" \
			"^86:gpushim-sim: shadow: memset [23] of stream [0-9]+ $touches owner 1, freed before this was queued"
	done
done
shadow --no-shim free-under-work
like 'memory that the driver took back is seen' "$status:$output" \
	"^86:gpushim-sim: shadow: kernel 2 of stream [0-9]+ touches .* memory that is taken away while it is still queued"
like 'with both stacks' "$output" "it was queued, .*main.* in rt_shadow.*it is taken away, .*cudaStreamSynchronize.*main.* in rt_shadow"
for what in first second neither both; do
	wanted='86:gpushim-sim: shadow: memset 1 of stream [0-9]+ touches \[0x[0-9a-f]+, \+128\) of .*memory that is taken away while it is still queued'
	case $what in neither | both) wanted='0:0 errors$' ;; esac
	for shim in '' --no-shim; do
		# shellcheck disable=SC2086
		output=$(GPUSHIM_ALLOC_CONF=snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" $shim \
			"$BUILD/tests/preload/drv_shadow_span" $what 2>&1)
		like "a span over two mappings, unmapped early: $what ${shim:-with the shim}" "$?:$output" "^$wanted"
	done
done
export SIM_SHADOW=off
shadow --no-shim other-stream
is 'SIM_SHADOW=off' "$status:$output" '0:0 errors'
SIM_SHADOW=perhaps shadow --no-shim other-stream
is 'a value that makes no sense is refused' "$status:$output" '2:gpushim-sim: SIM_SHADOW=perhaps: wanted on or off'
done_testing
