#!/bin/bash
# Where the host waited: the table `waits` of a snapshot, and what gpushim-report sync makes of it.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

# Copies by function, way and memory: how often and how much, whatever the place. Waits by function of the program.
read -r -d '' figures <<'END_PYTHON'
import collections, json, sys
with open(sys.argv[2]) as file:
    snapshot = json.load(file)
strings, waits = snapshot["strings"], snapshot["waits"]
rows = list(zip(*[waits[key] for key in ("function", "way", "memory", "calls", "size_bytes", "class")]))
if sys.argv[1] == "copies":
    sums = collections.Counter()
    for function, way, memory, calls, size, _ in rows:
        if size:
            key = (strings[function], waits["way_names"][way], waits["memory_names"][memory])
            sums[key] += calls
            sums[key + ("bytes",)] += size
    for key in sorted(key for key in sums if len(key) == 3):
        print(key[0].replace("Unaligned", ""), *key[1:], sums[key], sums[key + ("bytes",)])
else:
    for function, way, memory, calls, size, kind in sorted(rows, key=lambda row: strings[row[0]]):
        if waits["class_names"][kind] in ("sync", "poll"):
            print(strings[function], calls)
END_PYTHON

sim "$programs/rt_waits"
is 'it runs' "$status" 0
like 'its last line is one, and names the snapshot' "$(cat "$folder/err")" '^gpushim: snapshot written; .*read .* with: gpushim-report [a-z]+ [^ ]+$'
is 'copies: which way, what memory, how much' "$(python3 -c "$figures" copies "$folder"/gpushim.*.json)" \
'cuMemcpy2D_v2 to_device pinned 1 25600
cuMemcpyAsync to_device pageable 2 2097152
cuMemcpyAsync to_device pinned 1 1048576
cuMemcpyDtoHAsync_v2 to_host pageable 7 28
cuMemcpyDtoH_v2 to_host pageable 1 1048576
cuMemcpyHtoDAsync_v2 to_device pageable 5 5242880
cuMemcpyHtoDAsync_v2 to_device pinned 5 5242880'
is 'each place waits for itself' "$(python3 -c "$figures" waits "$folder"/gpushim.*.json)" \
'cuCtxSynchronize 1
cuEventSynchronize 1
cuStreamQuery 1
cuStreamSynchronize 7
cuStreamSynchronize 1'
sync=$("$BUILD/gpushim-report" sync -n 0 "$folder"/gpushim.*.json)
for place in read_values read_array send send_any_way wait_for_all wait_for_event ask; do
	like "sync names $place" "$sync" " $place\+0x[0-9a-f]+ in rt_waits"
done
sync=$("$BUILD/gpushim-report" sync --json "$folder"/gpushim.*.json)
is 'what they mean' "$(python3 -c '
import json, sys
for finding in json.loads(sys.argv[1])["findings"]:
    if finding["kind"] != "host-memory" and finding["kind"] not in ("alloc", "other"):
        print(finding["kind"], finding["place"].split("+")[0])' "$sync" | LC_ALL=C sort -u | paste -sd,)" \
	'device-sync wait_for_all,event-sync wait_for_event,pageable send,pageable send_any_way,spin ask,stream-sync main,'`
	`'stream-sync read_values,to-device send_rows,to-host read_array,value read_values'

# The dearest wait of a loop is named at the end.
sim "$programs/rt_waits" loop
like 'the dearest wait is named at the end' "$(cat "$folder/err")" \
	'^gpushim: snapshot written; the host waited most at rt_waits\+0x[0-9a-f]+: [0-9]+ ms of [0-9]+, [0-9]+ times; read more with: gpushim-report sync '

columns() { # columns FUNCTION COLUMN..: of its waits, summed up
	python3 - "$folder"/gpushim.*.json "$@" <<'END_PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    snapshot = json.load(file)
waits = snapshot["waits"]
mine = [row for row, function in enumerate(waits["function"]) if snapshot["strings"][function] == sys.argv[2]]
print(*(sum(waits[column][row] for row in mine) for column in sys.argv[3:]))
END_PYTHON
}

sim "$programs/drv_waits_rows" behind
is 'a stream that waits for another one has something to do' "$(columns cuStreamSynchronize calls clear)" '4 1'
for function in cuCtxSynchronize cuCtxSynchronize_v2 cuEventSynchronize cuMemcpyDtoH_v2; do
	sim "$programs/drv_waits_rows" twice $function
	is "the second time nothing is left to wait for: $function" "$(columns $function calls clear)" '2 1'
done
for way in copied copied-ptds; do
	sim "$programs/drv_waits_rows" $way
	is "after a copy to the host nothing is left: $way" "$(columns cuStreamSynchronize calls clear)" '3 1'
done
for function in cuEventElapsedTime cuEventElapsedTime_v2; do
	sim "$programs/drv_waits_rows" timed $function
	is "what was waited for was timed: $function" "$(columns cuEventSynchronize calls timed)" '1 1'
done

GPUSHIM_ALLOC_CONF=watch:off sim "$programs/rt_waits"
like 'watch:off keeps none, and says so' "$("$BUILD/gpushim-report" sync "$folder"/gpushim.*.json)" 'no waits were recorded'
done_testing
