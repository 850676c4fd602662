#!/bin/bash
# sanitizers asan ubsan
# slow
# timeout 280
# Graphs over memory of ours, and with memory of their own (H7): launches see what they see without the shim, and no memory
# behind a launch is reused before it is done.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for schedule in 'late 1' 'in-order 2' 'random 3' 'random 4' 'starve 5' 'priority 6'; do
	read -r policy seed <<<"$schedule"
	same "graphs, $policy, seed $seed" --policy "$policy" --seed "$seed" "$programs/rt_graph" "$seed"
	like "graphs, $policy, seed $seed: nothing wrong" "$output" ' 0 words wrong'
	is "graphs, $policy, seed $seed: nothing said" "$said" ''
done
# cudaFree does not wait: memory finds a new owner while launches are queued.
for seed in 1 2 3 4; do
	GPUSHIM_ALLOC_CONF=free_sync:never same "graphs, never waiting, seed $seed" --seed $seed "$programs/rt_graph" $seed
	like "graphs, never waiting, seed $seed: nothing wrong" "$output" ' 0 words wrong'
done
GPUSHIM_ALLOC_CONF=backend:cudamalloc same 'graphs over cached cudaMalloc' --policy random "$programs/rt_graph" 7
like 'over cached cudaMalloc: nothing wrong' "$output" ' 0 words wrong'
same 'graphs, on a nearly full device' --memory 24M --policy random "$programs/rt_graph" 8
same 'graphs, with short queues' --queue 8 "$programs/rt_graph" 9
like 'with short queues: nothing wrong' "$output" ' 0 words wrong'
done_testing
