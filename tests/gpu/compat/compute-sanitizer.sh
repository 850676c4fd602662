#!/bin/bash
# compute-sanitizer.sh PROGRAM: its memory checker finds nothing. Where it does not get along with this machine, it is as
# good as absent.
. "${0%/*}/environment.sh"
need_command compute-sanitizer
"$found" --tool memcheck --error-exitcode 9 "$1" 2>&1 | tee sanitizer.log
status=${PIPESTATUS[0]}
if [ "$status" != 0 ] && [ -z "${LD_PRELOAD-}" ] && grep -q -e 'not supported' -e 'nternal' sanitizer.log; then
	absent 'unsupported-here'
fi
grep -o 'ERROR SUMMARY: [0-9]* errors*' sanitizer.log | sed 's/^/ok /'
exit "$status"
