#!/bin/bash
# sanitizers asan ubsan
# timeout 200
# Device memory shared between two processes that both run the shim (rt_ipc*.c), on the simulated GPU.
. "$TOP/tests/lib/tap.sh"

errors=$(mktemp)

scenario() { # scenario PROGRAM NAME WHAT [SETTINGS]: it ends well; what it says on stderr stays in $errors
	local output status
	output=$(GPUSHIM_ALLOC_CONF=snapshot:off${4:+,$4} timeout -k 5 60 \
		"$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/preload/$1" "$2" 2>"$errors")
	status=$?
	if [ $status = 77 ]; then
		skip "$2: $3" 'not possible here'
	else
		is "$2: $3" "$status:$output" '0:'
	fi
	return $status
}

scenario rt_ipc bytes 'blocks of all sizes, both ways'
is 'bytes: nothing is printed' "$(cat "$errors")" ''
folder=$(mktemp -d)
(cd "$folder" && GPUSHIM_ALLOC_CONF='' timeout -k 5 60 "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/preload/rt_ipc" bytes) \
	>/dev/null 2>&1
like 'bytes: what is opened is noted, and that it is closed' "$(for snapshot in "$folder"/gpushim.*.json; do
	python3 "$TOP/tests/preload/snapshot.py" live "$snapshot" ipc
done | sort | xargs)" '^0 0, 0 0 of 0 0 0, 0 0 of [1-9][0-9]*$'
rm -r "$folder"
scenario rt_ipc many 'a block over more handles than one packet holds' large_segment_size_mb:2
scenario rt_ipc interior 'a pointer into the block gives the handle of the block'
case $BUILD in
*/asan | */ubsan) skip 'twice, contexts' 'under a sanitizer the shim does not catch dlsym' ;;
*)
	scenario rt_ipc twice 'opened twice is one mapping with a count'
	scenario rt_ipc contexts 'opened in two contexts is two mappings'
	;;
esac
scenario rt_ipc freed 'freed before it is opened'
is 'freed: nothing is printed' "$(cat "$errors")" ''
scenario rt_ipc kept 'freed while it is open: its memory is nobody else'"'"'s (H13)'
scenario rt_ipc kept 'the same with one handle a segment' expandable_segments:False
scenario rt_ipc both 'both directions at once, four threads each'
scenario rt_ipc leak 'no descriptor is left behind'
scenario rt_ipc legacy 'plain memory and foreign handles go to the driver' ipc:legacy

scenario rt_ipc_rough dead 'the exporter is gone, its forked child is not'
is 'dead: nothing is printed' "$(cat "$errors")" ''
scenario rt_ipc_rough faults 'every driver call on the way fails once'
scenario rt_ipc_rough stuck 'a stopped exporter holds nobody for ever'
like 'stuck: one line says so' "$(cat "$errors")" '^gpushim: process [0-9]+ does not answer[^'$'\n'']*$'
scenario rt_ipc_rough pending 'closed while work that reads it is queued'
scenario rt_ipc_rough capture 'opened and closed during a capture'
scenario rt_ipc_rough reset 'the importer resets its device'
scenario rt_ipc_rough hostile 'strangers on the socket, forged handles'
scenario rt_ipc_rough user 'another user is refused'
scenario rt_ipc_rough undumpable 'without the right to look into each other (ptrace)'
scenario rt_ipc_rough namespace 'another network namespace' &&
	like 'namespace: one line says what to do' "$(cat "$errors")" '^gpushim: [^'$'\n'']*namespace[^'$'\n'']*ipc:legacy[^'$'\n'']*$'
rm -f "$errors"
done_testing
