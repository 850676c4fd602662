#!/bin/bash
# sanitizers asan ubsan
# timeout 300
# submit:thread: copies within a device, memsets and events travel in the queue, too, and change nothing that the program
# sees (H3, H9, H15-H18), under policies of the simulated device; and they are put off.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,submit_deadline_us:0,log:debug

put_off() { # put_off WHAT: how many of these the last run put off
	sed -n 's/^gpushim: put off: //p' "$folder/err" | grep -o "[0-9]* $1" | grep -o '^[0-9]*' | grep . || echo 0
}

declare -A names=(
	[copies]='copies within a device, a part at a time'
	[sets]='memsets of each width, in ranges and in rows'
	[turns]='streams in turns by events (H15)'
	[events]='events end, and others get their handles'
	[answers]='what is asked of an event is asked of its last record'
	[captured_event]='events recorded in a capture (H9)'
	[refused]='what the driver refuses it refuses at once (H18)'
	[memory]='memory comes and goes (H3)'
	[threads]='several threads on one stream'
	[ends]='streams and events end with work queued (H6)'
	[exits]='the program ends with work queued'
)
declare -A all=()
for case in "${!names[@]}"; do
	for policy in late random; do
		same "${names[$case]}, $policy" --policy $policy "$programs/drv_submit_work" $case
	done
	for what in launches copies memsets records waits; do
		all[$what]=$((${all[$what]:-0} + $(put_off $what)))
	done
done
for what in copies memsets records waits; do
	ok "of these ${all[$what]} $what were put off" test "${all[$what]}" -gt 100
done

# The debug build puts off all that it may.
eager=
if [ -e "$BUILD/check/libgpushim.so" ]; then
	mkdir "$folder/eager"
	ln -s "$BUILD/sim" "$folder/eager/sim"
	ln -s "$BUILD/check/libgpushim.so" "$folder/eager/libgpushim.so"
	eager="--build $folder/eager"
fi
# shellcheck disable=SC2086
same 'two devices wait for each other (H15)' $eager --devices 2 --policy random "$programs/drv_submit_work" devices
ok 'there too' test "$(put_off waits)" -gt 0
# shellcheck disable=SC2086
same 'memory of another device' $eager --devices 2 --policy random "$programs/drv_submit_work" across
is 'is left alone' "$(put_off copies) $(put_off memsets)" '0 0'
# shellcheck disable=SC2086
same 'an event of another process, by a handle that was known (H15)' $eager "$programs/drv_submit_work" opened
is 'is left alone' "$(put_off records) $(put_off waits)" '0 0'

figures() { # figures: the names of what was counted, of each kind
	python3 - "$folder"/gpushim.*.json <<'END_PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    rows = [row for row in json.load(file)["submit"] if row["count"] > 0]
for kind in ("put_off", "at_once", "flush"):
    print(kind, *sorted(row["name"] for row in rows if row["kind"] == kind))
END_PYTHON
}

# shellcheck disable=SC2086
GPUSHIM_ALLOC_CONF=submit:thread,submit_deadline_us:0 sim $eager "$programs/drv_submit_work" events
like 'the snapshot tells what was put off, what was not, and who waited' "$(figures | xargs)" \
	'^put_off event_records event_waits launches at_once event .*not_seen_before flush .*cuEventDestroy_v2'
same 'per-thread default streams (H16)' "$programs/drv_submit_work" per_thread
is 'are left alone' "$(put_off launches) $(put_off copies) $(put_off memsets) $(put_off records) $(put_off waits)" '0 0 0 0 0'
same 'events that other processes may share (H15)' "$programs/drv_submit_work" shared_events
is 'are left alone' "$(put_off records) $(put_off waits)" '0 0'

export SIM_FAULT=cuMemsetD32Async:300:700
sim "$programs/drv_submit_work" fails
unset SIM_FAULT
is 'an error of a memset that was put off is told by a later call' "$(cat "$folder/out")" 'result 700, then 700'

# With memory of the driver's own nothing proves that it is there.
export GPUSHIM_ALLOC_CONF=$GPUSHIM_ALLOC_CONF,backend:off
same 'memory that gpushim does not serve' "$programs/drv_submit_work" copies
is 'is copied at once' "$(put_off copies)" 0
done_testing
