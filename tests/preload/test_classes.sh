#!/bin/bash
# sanitizers asan ubsan
# What each class of driver calls should have (shim/api/class.h): its host time is measured, memory that we keep helps
# it, frees wait for what it writes on the host.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

sim "$programs/drv_classes" takes
is 'what the driver needs memory for gets ours (H28)' "$status:$(cat "$folder/out")" 0:
sim "$programs/drv_classes" to-host
is 'a free waits for what may write on the host (H4)' "$status:$(cat "$folder/out")" 0:
sim "$programs/drv_classes" submits
is 'a free of pinned memory waits for what may use it (H8)' "$status:$(cat "$folder/out")" 0:
sim "$programs/drv_classes" timed
is 'the device has its name' "$(snapshot get devices 0 name)" 'Simulated GPU'
is 'of these the host time is measured' "$(python3 - "$folder"/gpushim.*.json <<'END_PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    functions = json.load(file)["functions"]
print(*sorted(f["name"] for f in functions if f["layer"] == "driver" and f["host_ns"] > 0))
END_PYTHON
)" 'cuCtxSynchronize cuGraphLaunch cuLaunchKernel cuMemAllocHost_v2 cuMemAlloc_v2 cuMemFreeHost cuMemFree_v2 '`
	`'cuMemHostAlloc cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2 cuMemsetD8_v2 cuModuleLoadData cuModuleUnload '`
	`'cuStreamSynchronize'
is 'launches and copies are counted where they are made' "$(python3 - "$folder"/gpushim.*.json <<'END_PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    snapshot = json.load(file)
rows = snapshot["kernels"]
print(*sorted("%s:%d" % (snapshot["strings"][name], calls) for name, calls, ns in zip(rows["name"], rows["calls"], rows["host_ns"]) if ns))
END_PYTHON
)" 'cuGraphLaunch:1 cuMemcpyHtoDAsync_v2:1 sim_delay:1'

export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,submit_deadline_us:0
sim --policy in-order "$programs/drv_put_off" flushes
is 'what was put off reaches the driver first (H17)' "$status:$(cat "$folder/out")" 0:
GPUSHIM_ALLOC_CONF=$GPUSHIM_ALLOC_CONF,backend:off sim --policy in-order "$programs/drv_put_off" memory
is 'before what is done with memory of the driver, too' "$status:$(cat "$folder/out")" 0:
for own in backend:vmm=fence backend:vmm=fence-of-all backend:vmm=wait expandable_segments:False=unmap \
	expandable_segments:False=release backend:cudamalloc=plain backend:vmm=table; do
	GPUSHIM_ALLOC_CONF=$GPUSHIM_ALLOC_CONF,${own%=*} sim "$programs/drv_put_off" own "${own#*=}"
	is "before what gpushim itself asks for: ${own#*=} (H3)" "$status:$(cat "$folder/out")" 0:
done
sim --policy in-order "$programs/drv_put_off" extended
is 'launches by cuLaunchKernelEx are put off, too' "$status:$(cat "$folder/out")" 0:
sim --policy in-order "$programs/drv_put_off" reused
is 'a handle of another function has other parameters (H18)' "$status:$(cat "$folder/out")" 0:
SIM_CALLS=$folder/calls sim "$programs/drv_put_off" ends
is 'all of it reaches the driver before the program ends' \
	"$(awk '/^cuLaunchKernel/ { sum += $2 } END { print sum }' "$folder/calls")" "$(cat "$folder/out")"
sim "$programs/drv_put_off" forgets
is 'what was known to succeed is not put off any more (H18)' "$status:$(cat "$folder/out")" 0:
sim --no-shim "$programs/drv_put_off" classes
for class in $(cat "$folder/out"); do
	sim --policy in-order "$programs/drv_put_off" tells "$class"
	is "the error of a launch that was put off is told: $class" "$status:$(cat "$folder/out")" 0:
done
done_testing
