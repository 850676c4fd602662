#!/bin/bash
# What users of other allocators complain about, by symptom, and the test that shows that it does not happen here. The
# tests are elsewhere; here it is seen that each still exists under its name. FILE | NAME | SYMPTOM
. "$TOP/tests/lib/tap.sh"

while IFS='|' read -r file name symptom; do
	ok "$symptom" grep -qF -- "$name" "$TOP/tests/$file"
done <<'END'
preload/test_ipc.sh|undumpable|sharing memory fails with pidfd_getfd: Operation not permitted
preload/test_ipc.sh|a pointer into the block gives the handle of the block|a pointer into a tensor cannot be shared
preload/test_ipc.sh|a block over more handles than one packet holds|a block of many physical handles cannot be shared
preload/test_ipc.sh|its memory is nobody else|memory is used again while another process has it mapped
preload/test_ipc.sh|plain memory and foreign handles go to the driver|processes without the allocator cannot open a handle
preload/test_memory.sh|pointers (H30, H32)|cuMemGetAddressRange tells of one physical handle of a block only
preload/drv_pointer.c|then in it|memory goes to somebody else while a network card has it registered
unit/test_allocator_share.c|what_is_looked_up_by_address_does_not_move|registrations are stale after memory was moved
conformance/drv_plain_memory.c|cuMemRetainAllocationHandle|a library takes memory of cudaMalloc for mapped memory
unit/test_allocator_faults.c|a_call_fails_expandable|mapping fails half-way and leaves the allocator broken
unit/test_allocator_faults.c|undoing_fails_too|so does undoing it
preload/test_settings.sh|backend:off: no block of ours|the allocator cannot be switched off
preload/test_memory.sh|out of memory: the line|out of memory without a word on what holds it
conformance/drv_peer.c|cuCtxEnablePeerAccess|a model over two GPUs crashes with expandable segments
preload/test_capture.sh|cudaFree of our memory leaves a global capture valid|the allocator frees during a capture and breaks it
preload/test_capture.sh|memory of graphs: $situation|cudaMalloc in a capture fails, a failed capture leaks
preload/test_pool.sh|figures of the default pool|memory_allocated and memory_reserved are wrong
preload/test_pool.sh|neither stream waits for the other|memory taken from another stream makes the streams wait
preload/test_bad_input.sh|freeing twice|a second free corrupts the allocator
unit/test_allocator_purge.c|max_split_size_leaves_every_size_to_be_had|max_split_size with expandable segments ends in an assertion
unit/test_core_conf.c|no such key; the nearest is|a setting with a wrong name is ignored without a word
unit/test_allocator_memory.c|H34 a refusal may look like out of memory|virtual memory that is refused looks like out of memory
unit/test_allocator_stitch.c|pieces_serve_what_none_of_them_could|out of memory, with enough free in pieces
preload/test_purge.sh|a second process that needs it gets it by asking|a second process is starved by what the first keeps
preload/test_api.sh|as a pluggable allocator|the allocator cannot be used from PyTorch
END
done_testing
