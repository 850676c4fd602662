#!/bin/bash
# Libraries that are closed while they are needed: the shim itself, where a program opened it or one that is linked to it,
# and the driver.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

export LD_LIBRARY_PATH=$BUILD
work=submit:thread,graph:auto,purge_ms:1,status:1
closed='closed: 0'

run() { # run NAME WANTED SNAPSHOTS OPTION.. WORD..: what dl_close prints, and how many snapshots it leaves
	local name=$1 wanted=$2 snapshots=$3
	shift 3
	sim "${@:1:$#-2}" "$programs/dl_close" "${@:$#-1}"
	is "$name: all goes on" "$status:$(xargs <"$folder/out")" "0:$wanted"
	is "$name: the snapshots" "$(find "$folder" -name 'gpushim.*.json' | wc -l)" "$snapshots"
}

for setting in snapshot:exit "$work" backend:off snapshot:exit+kill; do
	export GPUSHIM_ALLOC_CONF=$setting
	for shim in libgpushim.so check/libgpushim.so; do
		run "the shim, opened and closed, $setting, $shim" "$closed" 1 --no-shim opened "$BUILD/$shim"
	done
	run "the shim, opened by who was preloaded with it, $setting" "$closed" 1 opened "$BUILD/libgpushim.so"
	for shim in '' --no-shim; do
		# shellcheck disable=SC2086
		run "a library linked to the shim, $setting ${shim:-preloaded}" "it says 0 $closed it says 0 $closed it says 0 $closed" \
			$((${#shim} == 0)) $shim linked "$programs/lib_shim_user.so"
	done
	for library in libcuda.so.1 libcudart.so.13 libcudart.so.12; do
		run "$library, probed, $setting" "asked: 0 $closed asked: 0 $closed asked: 0 $closed" 1 probed $library
	done
	for library in libcuda.so.1 libcudart.so.13 "$BUILD/libgpushim.so"; do
		run "${library##*/}, closed too often, $setting" used 1 often "$library"
	done
done
done_testing
