#!/bin/bash
# sanitizers asan ubsan
# H2: a program that frees and allocates in a loop must not hold more than the driver, which waits in cudaFree, would
# have let it; a quarter of a GiB may wait.
. "$TOP/tests/lib/tap.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off
for policy in in-order late random; do
	output=$("$TOP/scripts/sim-run" --build "$BUILD" --policy $policy --memory 4G "$BUILD/tests/preload/rt_run_ahead" 2>&1)
	like "$policy: it ran" "$output" '64 allocations'
	held=$(sed -n 's/^held \([0-9]*\) MiB.*/\1/p' <<<"$output")
	ok "$policy: held ${held:-?} MiB" test "${held:-9999}" -le 352
done
export GPUSHIM_ALLOC_CONF=snapshot:off,free_sync:never
output=$("$TOP/scripts/sim-run" --build "$BUILD" --policy late --memory 4G "$BUILD/tests/preload/rt_run_ahead" 2>&1)
held=$(sed -n 's/^held \([0-9]*\) MiB.*/\1/p' <<<"$output")
ok "without the waits it would be more: ${held:-?} MiB" test "${held:-0}" -gt 352
done_testing
