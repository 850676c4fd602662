#!/bin/bash
# ncu.sh PROGRAM: Nsight Compute measures two of its kernels; the program ends well.
. "${0%/*}/environment.sh"
need_command ncu
"$found" --clock-control none --launch-count 2 --metrics smsp__cycles_elapsed.avg "$1" >ncu.log 2>&1
status=$?
if [ "$status" != 0 ] && [ -z "${LD_PRELOAD-}" ]; then
	tail -n 5 ncu.log
	absent 'unsupported-here'
fi
grep '^ok ' ncu.log
grep -c smsp__cycles_elapsed.avg ncu.log | sed 's/^/ok kernels measured: /'
[ "$status" = 0 ] || tail -n 15 ncu.log
exit "$status"
