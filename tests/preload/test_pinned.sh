#!/bin/bash
# timeout 120
# Pinned host memory is cached (H8), and no program can tell but by the time that it takes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for policy in late random; do
	for situation in still-read free-waits free-waits-for-kernels refused reset; do
		same "$situation, $policy" --policy $policy "$programs/rt_pinned" $situation
	done
	sim --policy $policy --devices 2 "$programs/rt_pinned" still-written
	is "still-written by another device, $policy" "$(cat "$folder/out")" '0 words wrong'
done
for situation in still-read still-written; do
	sim "$programs/rt_pinned" $situation
	is "$situation: nothing is lost" "$(cat "$folder/out")" '0 words wrong'
	for schedule in 'late 1' 'random 2' 'random 3' 'starve 4'; do
		read -r policy seed <<<"$schedule"
		GPUSHIM_ALLOC_CONF=free_sync:never sim --policy "$policy" --seed "$seed" "$programs/rt_pinned" $situation
		is "$situation, free_sync:never, $schedule: nothing is lost" "$(cat "$folder/out")" '0 words wrong'
	done
done
for conf in free_sync:auto free_sync:always; do
	for situation in free-waits free-waits-for-kernels; do
		GPUSHIM_ALLOC_CONF=$conf sim "$programs/rt_pinned" $situation
		is "$situation (H4), $conf" "$(cat "$folder/out")" '0 words wrong'
	done
done
GPUSHIM_ALLOC_CONF=free_sync:never sim "$programs/rt_pinned" free-waits
like 'free_sync:never: it does not' "$(cat "$folder/out")" '^[1-9][0-9]* words wrong'

asked() { # asked CONF: how many pairs met the same memory; frees and allocations that the driver saw
	rm -f "$folder/calls"
	SIM_CALLS=$folder/calls GPUSHIM_ALLOC_CONF=$1 sim "$programs/rt_pinned" pairs
	echo "$(cat "$folder/out"), $(sed -n 's/^cuMemHostAlloc //p; s/^cuMemFreeHost //p' "$folder/calls" | xargs)"
}
is 'what is freed serves again, by kind' "$(asked pinned_cache:True)" '18 of 18, 2'
like 'pinned_cache:False' "$(asked pinned_cache:False)" ', 40 40$'
like 'backend:off' "$(asked backend:off)" ', 40 40$'
like 'pinned_limit: less than one' "$(asked pinned_limit:4095K)" ', 40 40$'
like 'pinned_limit: one of two kinds' "$(asked pinned_limit:5M)" ', 20 21$'
GPUSHIM_ALLOC_CONF='' sim "$programs/rt_pinned" pairs
is 'the snapshot has none of them' "$(snapshot live host)" '0 0, 0 0 of 40'

sim "$programs/rt_pinned" retained
is 'a context that somebody holds for a moment keeps what it has' "$(cat "$folder/out")" '20 of 20'
SIM_FAULT=cuMemHostAlloc:2:2 sim "$programs/rt_pinned" asked-again
is 'what is refused is asked once more when what is kept has gone (H28)' "$(cat "$folder/out")" 'larger 0, larger 0, done'

SIM_FAULT=cuMemAllocHost_v2:1:2 GPUSHIM_ALLOC_CONF=snapshot:oom sim "$programs/rt_pinned" refused
like 'out of pinned memory: one true line' "$(cat "$folder/err")" \
	'gpushim: out of pinned host memory: asked 4\.0 MiB, live 0 B, kept free 0 B, available on the host [0-9]'
is 'out of pinned memory: a snapshot' "$(find "$folder" -name 'gpushim.*.oom.json' | wc -l)" 1
done_testing
