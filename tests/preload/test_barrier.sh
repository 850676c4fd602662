#!/bin/bash
# A free is a command of its stream, as the driver's own is: on the legacy default stream it keeps blocking streams in order, and on a
# blocking one it comes after the legacy one's work (H2). What it does of itself: tests/conformance/drv_*_stream_*.c.
# sanitizers
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

barrier() { # barrier NAME POLICY WORD..: as without the shim, which is
	same "$1" --devices 2 --policy "$2" "$programs/drv_barrier" "${@:3}"
}

export GPUSHIM_ALLOC_CONF=snapshot:off
for policy in late random starve priority; do
	barrier "other work, $policy" $policy order
	is 'in order' "$output" 'copied: 1'
	barrier "in a second context, $policy" $policy contexts
	is 'in order' "$output" 'copied in the other context: 1'
	for stream in legacy blocking; do
		same "on a $stream stream, without the runtime, $policy" --policy $policy "$programs/rt_barrier" $stream
		is 'in order' "$(xargs <<<"$output")" '1 2 3 4 5 6 7 8'
	done
done

for fault in cuEventCreate:1:2 cuEventRecord:1:2; do
	SIM_FAULT=$fault sim --devices 2 "$programs/drv_barrier" order
	is "where the driver refuses $fault, the host waits" "$(cat "$folder/out")" 'copied: 1'
done
barrier 'an error that sticks reaches the program' random sticky

libraries() {
	cp "$programs/lib_drv_barrier.so" "$folder/libnvidia-work.so"
	for policy in random starve; do
		barrier "a library of the driver's, $policy" $policy library "$folder/libnvidia-work.so"
		is 'in order' "$output" 'written: 2'
		export GPUSHIM_ALLOC_CONF=snapshot:off,free_sync:always DEEPBIND=1
		barrier "a library that looks past us, $policy, with free_sync:always" $policy library "$programs/lib_drv_barrier.so"
		is 'in order' "$output" 'written: 2'
		export GPUSHIM_ALLOC_CONF=snapshot:off
		unset DEEPBIND
	done
}
case $BUILD in
*/asan | */ubsan | */both | */tsan) skip 'libraries that are not seen' 'under a sanitizer the shim does not catch dlsym, nor is RTLD_DEEPBIND allowed' ;;
*) libraries ;;
esac

export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,submit_deadline_us:0
for policy in random starve; do
	barrier "launches that are put off, $policy" $policy queued
	is 'in order' "$output" 'wrong: 0'
done
done_testing
