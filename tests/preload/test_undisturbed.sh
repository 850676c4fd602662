#!/bin/bash
# sanitizers asan ubsan
# What the shim does in a program's threads leaves them as they were, with one context and with two.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for backend in vmm cudamalloc; do
	for contexts in '' two; do
		# shellcheck disable=SC2086
		GPUSHIM_ALLOC_CONF=snapshot:off,device_time:0,backend:$backend sim --devices 2 "$programs/drv_undisturbed" $contexts
		is "$backend ${contexts:-one}" "$status:$(cat "$folder/out")" 0:
	done
done
done_testing
