#!/bin/bash
# Other tools in the process: a second preloaded library in either order, a program with a cudaMalloc of its own, a
# static runtime that exports its functions, libraries that come and go.
. "$TOP/tests/lib/tap.sh"

programs=$BUILD/tests/preload
shim=$BUILD/libgpushim.so tool=$programs/lib_tool_malloc.so
export GPUSHIM_ALLOC_CONF=snapshot:off
preload() { LD_LIBRARY_PATH=$BUILD/sim LD_PRELOAD=$1 timeout 20 "${@:2}" 2>&1; }

is 'a cudaMalloc of its own reaches the next one' "$(preload "$shim" "$programs/rt_own_malloc")" 'malloc 0, free 0, 1 calls'

for order in "$tool" "$shim $tool" "$tool $shim"; do
	names=${order//$BUILD\//}
	is "a second tool sees what it would: $names" \
		"$(preload "$order" "$programs/dl_tools" libcudart.so.13)" \
		'malloc 0, free 0, tool saw 1 mallocs and our look-ups'
	is "a runtime inside of a library: $names" \
		"$(preload "$order" "$programs/dl_tools" "$programs/lib_fake_runtime.so")" \
		'malloc 0, free 7, tool saw 1 mallocs and our look-ups'
done
is 'a runtime inside of a library, alone with us' "$(preload "$shim" "$programs/dl_tools" "$programs/lib_fake_runtime.so")" \
	'malloc 0, free 7, tool saw 0 mallocs and no look-ups'

for order in rt_count:rt12_count rt12_count:rt_count; do
	libraries=("$programs/lib_${order%:*}.so" "$programs/lib_${order#*:}.so")
	plain=$(preload '' "$programs/dl_swap" "${libraries[@]}")
	is "$order: come and go" "$(preload "$shim" "$programs/dl_swap" "${libraries[@]}")" "$plain"
	like "$order: at the same addresses" "$plain" 'used again'
done
done_testing
