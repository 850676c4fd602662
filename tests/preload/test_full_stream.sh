#!/bin/bash
# sanitizers asan ubsan
# A thread that gives a stream more than the driver takes waits in the driver, and other threads go on. With submit:thread, too:
# the thread that hands all of them their work must not be the one that waits (H15).
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

put_off() { # how much work the last run put off
	sed -n 's/^gpushim: put off: \([0-9]*\) launches, \([0-9]*\) copies, \([0-9]*\) memsets, .*/\1 + \2 + \3/p' "$folder/err" |
		sed 's/^$/0/' | grep . || echo 0
}

for settings in submit:thread submit:thread,graph:auto submit:thread,graph:auto,graph_chunk:512; do
	export GPUSHIM_ALLOC_CONF=snapshot:off,submit_deadline_us:0,log:debug,$settings
	for kind in kernels memsets copies turns streams threads large; do
		same "$kind, $settings" --policy late "$programs/drv_full_stream" $kind
		[ $kind = large ] && most=1050 || most=1450
		count=$(($(put_off)))
		ok "of these $count pieces were put off, no more than fit" test $count -lt $most
	done
done
export GPUSHIM_ALLOC_CONF=snapshot:off,submit_deadline_us:0,log:debug,submit:thread
for scale in 0.25x 0.5x; do # as the driver has it
	export CUDA_SCALE_LAUNCH_QUEUES=$scale
	[ $scale = 0.25x ] && queue=256 || queue=512
	export SIM_QUEUE=$queue
	same "kernels where a stream takes $queue" --policy late "$programs/drv_full_stream" kernels
	unset CUDA_SCALE_LAUNCH_QUEUES SIM_QUEUE
done
for policy in in-order random starve priority; do
	same "kernels, $policy" --policy $policy "$programs/drv_full_stream" kernels
	[ $policy != in-order ] || ok "and $(put_off) are put off where the device is quick" test $(($(put_off))) -gt 800
done
done_testing
