#!/bin/bash
# A check that cannot fail is none: what is planted in a program, preloaded with a shim that is built for a sanitizer, is
# reported by `make asan`.
# sanitizers asan ubsan
. "$TOP/tests/lib/tap.sh"

case $BUILD in
*/asan) ;;
*) echo '1..0 # SKIP for make asan' && exit 0 ;;
esac
export GPUSHIM_ALLOC_CONF=snapshot:off
output=$("$TOP/scripts/sim-run" "$BUILD/tests/preload/rt_planted" 2>&1)
is 'a planted fault ends the program' $? 66
like 'it is reported' "$output" 'ERROR: AddressSanitizer: heap-use-after-free'
is 'what is no fault is none' "$("$TOP/scripts/sim-run" "$BUILD/tests/preload/rt_demo" 2>&1; echo $?)" $'demo: results are right\n0'
done_testing
