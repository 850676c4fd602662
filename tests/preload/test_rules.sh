#!/bin/bash
# What holds of the driver holds under the shim: every rule of tests/conformance again, preloaded.
# sanitizers asan ubsan
. "$TOP/tests/lib/tap.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off
for source in "$TOP"/tests/conformance/*.c; do
	rule=$(basename "$source" .c)
	case $rule in
	drv_fault | drv_vmm_fault) # about cuMemAlloc in the simulator itself
		continue
		;;
	drv_proc_address | drv_proc_address_all | rt_entry_point) # about dlsym
		case $BUILD in
		*/asan | */ubsan)
			skip "$rule" 'under a sanitizer the shim does not catch dlsym'
			continue
			;;
		esac
		;;
	esac
	ok "$rule" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --devices 2 "$BUILD/tests/conformance/$rule"
done
for policy in random starve priority; do
	for rule in drv_default_stream_reuse drv_blocking_stream_free; do
		ok "$rule under $policy" timeout 60 \
			"$TOP/scripts/sim-run" --build "$BUILD" --policy "$policy" "$BUILD/tests/conformance/$rule"
	done
done
export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,graph:auto
ok "drv_full_stream, put off" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/conformance/drv_full_stream"
export GPUSHIM_ALLOC_CONF=snapshot:off,backend:cudamalloc
for rule in drv_memory drv_pointer drv_free_waits drv_copy rt_launch rt_pool; do
	ok "$rule over cached cudaMalloc" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/conformance/$rule"
done
export GPUSHIM_ALLOC_CONF=snapshot:off,ipc:legacy
ok "drv_ipc_pair by the driver" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/conformance/drv_ipc_pair"
done_testing
