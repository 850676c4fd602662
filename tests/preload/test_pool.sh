#!/bin/bash
# Memory pools: what a program reads of them, PyTorch's memory_allocated and memory_reserved among it, and what becomes of
# them. The same with the shim, which serves the default pool.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

same 'figures of the default pool, beside memory of cudaMalloc' "$programs/rt_pool_figures" figures
is 'which is served' "$(snapshot gauge allocated_async_bytes)" "0 $((2 * (16 << 20) + 2))"
same 'REUSE_* of 0 hides no dependency (H7)' "$programs/rt_pool_figures" reuse
like 'neither stream waits for the other' "$output" 'other memory, the first stream: 600'
same 'pools that go' "$programs/rt_pool_figures" pools
is 'when the current one goes, the default pool is served again' "$(snapshot gauge allocated_async_bytes)" "0 $((1 << 20))"
GPUSHIM_ALLOC_CONF=backend:cudamalloc same 'figures over cached cudaMalloc' "$programs/rt_pool_figures" pools
done_testing
