#!/bin/bash
# slow
# timeout 280
# Programs that allocate, on the simulated GPU under several schedules: with the shim they print what they print without
# it, and their snapshots tell the truth.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for schedule in 'late 1' 'in-order 2' 'random 3' 'random 4' 'random 5' 'starve 6' 'priority 7'; do
	read -r policy seed <<<"$schedule"
	same "a mixed program, $policy, seed $seed" --policy "$policy" --seed "$seed" "$programs/rt_mix" "$seed"
	like "a mixed program, $policy: nothing wrong" "$output" ' 0 words wrong'
	is "a mixed program, $policy: nothing said" "$said" ''
done
same 'a mixed program, on a nearly full device' --memory 30M --policy random "$programs/rt_mix" 8
same 'a mixed program, with a second device' --devices 2 "$programs/rt_mix" 9
is 'afterwards: no live block' "$(snapshot blocks)" '0 0'
like 'afterwards: nothing allocated' "$(snapshot gauge allocated_bytes)" '^0 [1-9]'

sim --no-shim true
rm -f "$folder/calls"
SIM_CALLS=$folder/calls sim --no-shim "$programs/rt_mix" 1
sim "$programs/rt_mix" 1
is 'counts of driver functions are those without the shim' "$(snapshot calls)" "$(LC_ALL=C sort "$folder/calls")"

same 'codes' "$programs/rt_codes"
like 'codes: a block larger than the device is one line' "$said" '^gpushim: out of memory on device 0: asked [^
]*$'
same 'codes, in order' --policy in-order "$programs/rt_codes"
same 'pointers (H30, H32)' "$programs/drv_pointer"
for way in '' type id together set; do
	sim "$programs/drv_asked" $way
	is "memory that may be looked up is mapped nowhere else: ${way:-nobody asks} (H12)" "$status $(cat "$folder/out")" '0 '
done

same 'memory that is still read is not reused elsewhere' "$programs/rt_hazard" reuse-async
like 'and not written' "$output" '^0 words wrong'
like 'but once it is done' "$output" 'once complete, the memory is reused'
for hazard in reuse-legacy reuse-legacy-async stream-destroyed stream-destroyed-beside-capture \
	stream-destroyed-then-freed freed-then-stream-destroyed; do
	same "$hazard (H2, H6)" "$programs/rt_hazard" $hazard
	like "$hazard: nothing wrong" "$output" '^0 words wrong'
done
for hazard in stream-destroyed-then-freed freed-then-stream-destroyed; do
	same "$hazard, random (H6)" --policy random "$programs/rt_hazard" $hazard
	like "$hazard, random: nothing wrong" "$output" '^0 words wrong'
done
sim "$programs/rt_twin" again
is 'the default stream of a thread reuses at once (H16)' "$(cat "$folder/out")" 'the same'
sim "$programs/rt_twin" idle
is 'and is not done when another stream is' "$(cat "$folder/out")" 'another'
sim "$programs/rt_hazard" reuse-same-stream
is 'the stream of the free reuses at once' "$(cat "$folder/out")" 'the same memory
0 words wrong'
same 'nothing is given back while work is queued on it' "$programs/rt_hazard" give-back
export SIM_DRIVER_VERSION=12040 # no events of whole contexts: the host waits
for policy in late random; do
	same "a driver before 12.5, $policy: a mixed program" --policy $policy "$programs/rt_mix" 1 400
	like "a driver before 12.5, $policy: nothing wrong" "$output" ' 0 words wrong'
	for what in reuse-legacy reuse-legacy-async give-back; do
		same "a driver before 12.5, $policy: $what" --policy $policy "$programs/rt_hazard" $what
	done
done
GPUSHIM_ALLOC_CONF=free_sync:never sim "$programs/drv_waits_inside"
is 'a driver before 12.5: a wait of ours keeps no capture from beginning' "$(cat "$folder/out")" 'captured meanwhile'
unset SIM_DRIVER_VERSION
same 'cudaFree of nothing starts CUDA (H5)' "$programs/rt_hazard" free-nothing
same 'device reset' "$programs/rt_hazard" reset
same 'cudaMemGetInfo (H30)' "$programs/rt_hazard" memory-info
rm -f "$folder/calls"
SIM_CALLS=$folder/calls sim python3 -c '
import ctypes
free, total = ctypes.c_size_t(), ctypes.c_size_t()
print(ctypes.CDLL("libcudart.so.13").cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)))'
is 'who only asks how much there is: one question, and nothing is made' \
	"$(cat "$folder/out") $(grep -E '^cu(MemGetInfo|MemAddressReserve|MemCreate|StreamCreate|EventCreate)' "$folder/calls")" \
	'0 cuMemGetInfo_v2 1'

same 'cudaFree waits for copies to the host (H4)' "$programs/rt_hazard" copy-then-free
GPUSHIM_ALLOC_CONF=free_sync:always same 'free_sync:always' "$programs/rt_hazard" copy-then-free
GPUSHIM_ALLOC_CONF=free_sync:never sim "$programs/rt_hazard" copy-then-free
like 'free_sync:never does not wait' "$(cat "$folder/out")" '^[1-9][0-9]* words wrong on the host'
GPUSHIM_ALLOC_CONF=free_sync:never same 'free_sync:never keeps the order of work' "$programs/rt_hazard" reuse-legacy

for backend in vmm cudamalloc; do
	GPUSHIM_ALLOC_CONF=backend:$backend same "one goes unseen, backend:$backend (H6)" "$programs/drv_context_again" unseen
	GPUSHIM_ALLOC_CONF=backend:$backend same "contexts that come and go, backend:$backend (H6)" "$programs/drv_context_again"
	like 'later ones have the handles of earlier ones' "$said" '^the same handle 5 times'
done
same 'memory comes back among many contexts (H2)' --memory 32M "$programs/drv_contexts"
like 'all of it' "$output" '^64 of 64'
same 'the driver needs memory that we keep (H28)' --memory 256M "$programs/drv_give_back"
same 'memory given back after the exit handlers' "$programs/rt_late" "$programs/lib_late.so"

same 'out of memory, three times, and back' --memory 256M "$programs/rt_oom"
like 'out of memory: the line' "$said" '^gpushim: out of memory on device 0: asked 16\.0 MiB, live [^
]*$'
like 'out of memory: what fills the device' "$said" '; most of it 25[0-9]\.[0-9] MiB in 1[0-9] blocks by rt_oom\+0x[0-9a-f]+$'
like 'out of memory: what others hold' "$said" ', with other processes and the driver 0 B;'
oom=$(find "$folder" -name 'gpushim.*.oom.json')
like 'out of memory: the snapshot is of the last time' "$("$BUILD/gpushim-report" summary "$oom")" 'out of memory 3 times'
is 'out of memory: the snapshot' "$(python3 "$TOP/tests/preload/snapshot.py" get "$oom" meta reason)" oom
like 'out of memory: its blocks' "$(python3 "$TOP/tests/preload/snapshot.py" blocks "$oom")" '^1[0-9] '
# Another process under gpushim is asked to give back what it keeps, and a request is made again: it is one failure.
GPUSHIM_ALLOC_CONF=snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_trigger" "$folder/until" >"$folder/other" 2>&1 &
other=$!
sim --memory 256M "$programs/rt_oom"
like 'out of memory beside another process: as often' \
	"$("$BUILD/gpushim-report" summary "$(find "$folder" -name 'gpushim.*.oom.json')")" 'out of memory 3 times'
touch "$folder/until"
wait $other
done_testing
