#!/bin/bash
# The C API, from Python's ctypes and as PyTorch's CUDAPluggableAllocator uses it: preloaded, and where the library is only
# loaded by its path.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

script=$TOP/tests/preload/api.py
export GPUSHIM_ALLOC_CONF=snapshot:off

sim --devices 2 python3 "$script" figures
is 'figures, trimming, a snapshot' "$status:$(cat "$folder/out")" "0:version has dots: True
nothing to tell yet: -5
stats: 0
live: $((3 << 20)) $((8 << 20)) 2 1
held: True True
of an older header: 0 $((3 << 20)) 77
nonsense: -4 -4 -5 -5
reset: 0 -5
peak: $((3 << 20))
given back: True 0
snapshot: 0 True
written: True
into nothing: -4"

torch="0:before CUDA: None
three blocks: 3 True
again: True
with another device current: True 1
nonsense: None None None None
last error: 0"
sim --devices 2 python3 "$script" torch "$BUILD/libgpushim.so"
is 'as a pluggable allocator, preloaded' "$status:$(cat "$folder/out")" "$torch"
like 'out of memory is one line' "$(cat "$folder/err")" '^gpushim: out of memory on device 0: asked 1024[^
]*$'
sim --no-shim --devices 2 python3 "$script" torch "$BUILD/libgpushim.so"
is 'as a pluggable allocator, by its path alone' "$status:$(cat "$folder/out")" "$torch"
ok 'every function of the header has its place in the manual page' diff \
	<(grep -o 'gpushim_[a-z_]*(' "$TOP/shim/gpushim.h" | tr -d '(' | sort -u) \
	<(grep -o '^\.BI ".*gpushim_[a-z_]*(' "$TOP/report/man/gpushim.3" | grep -o 'gpushim_[a-z_]*' | sort -u)
done_testing
