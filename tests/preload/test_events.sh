#!/bin/bash
# timeout 300
# The history has an event of each kind, and the snapshot a class for each sort of memory.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"
report=$BUILD/gpushim-report

rm -f "$folder"/gpushim.*
GPUSHIM_ALLOC_CONF=snapshot:exit sim "$programs/drv_events"
is 'the program runs' "$status" 0
file=$(ls "$folder"/gpushim.*)
events() { # of a type: how many, on streams, with stacks, by this thread
	python3 -c '
import json, sys
snapshot = json.load(open(sys.argv[1]))
events = snapshot["events"]
rows = [i for i, t in enumerate(events["type"]) if events["type_names"][t] == sys.argv[2]]
print(len(rows), sum(events["stream"][i] != 0 for i in rows), sum(events["stack"][i] != 0 for i in rows),
      all(events["thread"][i] == snapshot["meta"]["pid"] for i in rows))' "$file" "$1"
}
is 'alloc' "$(events alloc)" '2 1 2 True'
is 'free' "$(events free)" '2 1 2 True'
is 'free_done: once the host has waited, or another wanted it' "$(events free_done | cut -d' ' -f1,4)" '2 True'
is 'trim' "$(events trim | cut -d' ' -f1,4)" '1 True'
like 'segment_map: with the stack of who needed it' "$(events segment_map)" '^[1-9][0-9]* 0 [1-9][0-9]* True'
like 'segment_unmap' "$(events segment_unmap)" '^[1-9]'
is 'capture_begin: its stream, its stack' "$(events capture_begin)" '1 1 1 True'
is 'capture_end' "$(events capture_end)" '1 1 1 True'
is 'pool_made' "$(events pool_made)" '1 0 1 True'
is 'pool_ended' "$(events pool_ended)" '1 0 1 True'
is 'oom' "$(events oom)" '1 0 1 True'
for class in host:5000 registered:8192 managed:6000 handle:2097152; do
	is "class ${class%:*}" "$(python3 "$TOP/tests/preload/snapshot.py" live "$file" "${class%:*}")" \
		"1 ${class#*:}, 1 ${class#*:} of 1"
done
like 'what others hold was seen' "$(python3 "$TOP/tests/preload/snapshot.py" get "$file" devices 0 others_time_ns)" '^[1-9]'
GPUSHIM_ALLOC_CONF=snapshot:signal sim --devices 2 "$programs/rt_two_devices"
is 'and each device has its own' "$(for device in 0 1; do
	snapshot get devices $device others_bytes
done | xargs)" '0 0'
GPUSHIM_ALLOC_CONF=snapshot:exit sim "$programs/drv_events"
file=$(ls "$folder"/gpushim.*)
text=$("$report" summary "$file")
like 'the summary has it' "$text" 'more were in use on the device, by other processes, contexts and code'
like 'and pinned memory' "$text" 'pinned host memory'
like 'and registered memory' "$text" 'pinned where it lies'

GPUSHIM_ALLOC_CONF=snapshot:exit,history:4 sim "$programs/drv_events"
file=$(ls -t "$folder"/gpushim.* | head -1)
like 'a short history says what it lost' "$("$report" summary "$file")" 'history: 4 events; older ones dropped: [1-9]'
done_testing
