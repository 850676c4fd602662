#!/bin/bash
# sanitizers asan ubsan
# Contexts, streams, captures and pools that begin, end or change by any function there is, old versions too: the shim
# sees each of them (H1, H6, H9).
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for way in v2 v3 v4 retain; do
	sim "$programs/drv_context_ways" $way
	is "memory that another context reads is not handed out: $way (H1)" "$status:$(cat "$folder/out")" '0:0 words wrong'
done
for way in context context-v2 release release-v2 reset reset-v2 green; do
	same "a context ends, and its memory with it: $way" "$programs/drv_end_ways" $way
	like "$way: the driver has no such memory" "$output" 'of the context that ended: 1'
done
same 'memory goes' "$programs/drv_end_ways" memory
is 'memory goes, its addresses are nobody else'"'"'s' "$output" 'mapped there: 1'
same 'two primary contexts, one ends' --devices 2 "$programs/drv_end_ways" two-primaries
is 'two primary contexts: each has its own' "$output" 'memory of the context that ended: 1
memory of the other one: 0'
for way in stream stream-again stream-wait context-wait; do
	same "$way" "$programs/drv_end_ways" $way
	is "$way: nothing is missed" "$output" ''
done
case $BUILD in
*/asan | */ubsan) skip 'a primary context that came unseen' 'under a sanitizer the shim does not catch dlsym' ;;
*)
	cp "$programs/lib_ask.so" "$folder/libcupti.so.13"
	same 'a primary context that came unseen' "$programs/drv_end_ways" primary-unseen "$folder/libcupti.so.13"
	is 'a primary context that came unseen ends' "$output" 'active 0'
	same 'a wait for a context that came unseen' "$programs/drv_end_ways" wait-unseen "$folder/libcupti.so.13"
	is 'a wait for a context that came unseen is none for others' "$output" ''
	;;
esac
same 'captures' "$programs/drv_capture_ways"
is 'captures: what they allocate is in the graph' "$(sort <<<"$output" | uniq -c | tr -s ' ')" \
	"$(printf ' 12 3 nodes\n 6 on the legacy stream 900')"
export SIM_PEERS=pairs
same 'pools' --devices 3 "$programs/drv_pool_ways"
is 'pools: each of them' "$status:$output" '0:cuDeviceSetMemPool: 4194304 bytes
cuMemSetMemPool: 4194304 bytes
written by device 1: 0
7'
done_testing
