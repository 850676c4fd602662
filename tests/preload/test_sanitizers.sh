#!/bin/bash
# timeout 120
# A few programs, preloaded with a shim that is built for the address and undefined-behaviour sanitizers (`make test`
# builds it as build/both); `make asan` and `make ubsan` run more. A check that cannot fail is none: what is planted in
# a program is reported.
# sanitizers asan ubsan
. "$TOP/tests/lib/tap.sh"

case $BUILD in
*/asan) kinds=asan ;;
*/ubsan) kinds=ubsan ;;
*)
	kinds='asan ubsan' BUILD=$TOP/build/both
	[ -x "$BUILD/tests/preload/rt_threads" ] || { echo '1..0 # SKIP no build/both: make BUILD=both sanitized' && exit 0; }
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:exitcode=66 UBSAN_OPTIONS=print_stacktrace=1:exitcode=66
	;;
esac
programs=$BUILD/tests/preload
export GPUSHIM_ALLOC_CONF=snapshot:off
sim() { timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$@" 2>&1; }

for kind in $kinds; do
	output=$(sim "$programs/rt_planted" $kind)
	is "$kind: a planted fault ends the program" $? 66
	case $kind in
	asan) like "$kind: it is reported" "$output" 'ERROR: AddressSanitizer: heap-use-after-free' ;;
	ubsan) like "$kind: it is reported" "$output" 'runtime error: shift exponent 40 is too large' ;;
	esac
done
is 'what is no fault is none' "$(sim "$programs/rt_demo"; echo $?)" $'demo: results are right\n0'
for conf in backend:vmm backend:cudamalloc free_sync:always; do
	output=$(GPUSHIM_ALLOC_CONF=snapshot:off,$conf sim --policy random --seed 7 "$programs/rt_mix" 7 200)
	like "a mixed program, $conf" "$?:$output" '^0:.* 0 words wrong'
done
ok 'graphs' sim --policy random --seed 3 "$programs/rt_graph" 3 60
ok 'threads' sim "$programs/rt_threads" turns
done_testing
