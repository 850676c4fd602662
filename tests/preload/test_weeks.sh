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
done_testing
