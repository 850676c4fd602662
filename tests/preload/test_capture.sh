#!/bin/bash
# sanitizers asan ubsan
# timeout 200
# Memory while streams capture (H9): programs get what they get without the shim, no call of ours breaks a capture, and
# once it is over memory is served again.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

capture=$programs/rt_capture threads=$programs/rt_capture_threads

same 'other streams take and give memory' "$capture" others
is 'no call of ours meets the capture, reused in order' "$output" '0 calls, status 1, end 0
0 words wrong'
same 'cudaFree during a relaxed capture' "$capture" frees
is 'no call of ours, reused in order' "$output" 'free 0, 0 calls, end 0
0 words wrong'
for policy in random starve in-order; do
	same "other streams, $policy" --policy $policy "$capture" others
	same "cudaFree, $policy" --policy $policy "$capture" frees
done
sim "$capture" frees-global
is 'cudaFree of our memory leaves a global capture valid' "$(cat "$folder/out")" 'free 0, 0 calls, end 0
0 words wrong'
GPUSHIM_ALLOC_CONF=backend:cudamalloc sim "$capture" frees-global
is 'also over cached cudaMalloc' "$(cat "$folder/out")" 'free 0, 0 calls, end 0
0 words wrong'

same 'cudaMalloc is refused or not as without the shim' "$capture" mallocs
is 'and served again afterwards' "$output" 'relaxed 0, end 0
global 900, status 2, end 901
thread-local 900, end 901
afterwards served: 1'
same 'cudaMalloc of another thread likewise' "$threads" mallocs
same 'another thread takes memory' "$threads" growth
is 'it gets it, by no call of ours' "$output" '0 refused, 0 calls, end 0, served 1'
for backend in vmm cudamalloc; do
	GPUSHIM_ALLOC_CONF=backend:$backend same "a device full of idle memory, $backend" --memory 256M "$capture" room
	is "it makes room for others during the capture, $backend" "$output" 'large 0, larger 2, 0 calls, end 0
free 0'
done
same 'a stream joins by an event: freeing there is refused, elsewhere not' "$capture" joined
like 'a stream joins: the capture is good' "$output" 'free there 1, elsewhere 0, a node 0, end 0'

same 'ended in another thread' "$threads" ended-elsewhere
same 'ended by the wrong thread' "$threads" wrong-thread
is 'that is an error and ends the capture' "$output" 'end elsewhere 908, status 0, 0 calls, end 401, served 1'
for how in broken refused destroyed reset default-stream; do
	same "a capture that is $how" "$capture" $how
	like "a capture that is $how: over, memory is served" "$output" 'served 1$'
done
same 'a hundred captures at once' "$threads" many
for policy in late random; do
	sim --policy $policy "$threads" storm
	is "captures beside threads that move memory, $policy" "$(cat "$folder/out")" \
		'0 captures went wrong, 0 words wrong, served 1'
done

# Memory of graphs is the driver's own, so it is what it is without the shim: freed memory serves the rest of the capture,
# shapes share what only one of them uses, a failed capture leaks nothing, and all of it lives as long as it has to.
for situation in shapes inside several failed outlives legacy; do
	same "memory of graphs: $situation (H7, H10)" "$programs/rt_capture_memory" $situation
	is "memory of graphs: $situation, nothing said" "$said" ''
done
done_testing
