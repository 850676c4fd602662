#!/bin/bash
# What a program should not ask for gets the driver's own code, by the runtime and by the driver, by legacy and
# stream-ordered calls, and disturbs nothing else.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

ask() { # ask SCENARIO WHAT
	local api
	for api in rt drv; do
		same "$2 ($api)" --devices 2 "$programs/${api}_bad_input" "$1"
		like "$2: nothing else is disturbed ($api)" "$output" \
			$'\n0 bytes of the neighbour wrong, memory in use as before\nfree of the neighbour 0$'
	done
}

ask foreign 'freeing what was never allocated'
ask twice 'freeing twice, by the same call and by the other'
ask interior 'freeing inside a block'
ask sizes 'no bytes, and more than the device has'
ask streams 'a stream that was destroyed'
ask devices "another device's stream, another device current"
export GPUSHIM_ALLOC_CONF=backend:cudamalloc
ask twice 'over cached cudaMalloc: freeing twice'
ask interior 'over cached cudaMalloc: freeing inside a block'
done_testing
