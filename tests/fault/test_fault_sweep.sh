#!/bin/bash
# slow
# timeout 1200
# Fail the Nth: every call of the driver that a scenario makes, and every metadata allocation, fails once; see sweep.h.
# A few errors, and settings; full_sweep.py takes all of them.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
base=history:1000,stacks:off,device_time:0,snapshot_dir:$folder
faults=0 points=0 scenarios=0

sweep() { # sweep PROGRAM SETTINGS OPTION..: both ways, OPTIONs are sim-run's
	local program=$1 settings=$2 line number=0 plan=none status
	shift 2
	local options="$*"
	local plain="$folder/plain.$program.${options// /.}" # whatever the settings are
	[ -s "$plain" ] || "$TOP/scripts/sim-run" --build "$BUILD" "$@" --no-shim "$BUILD/tests/fault/$program" plain \
		"$plain" short >"$folder/out" 2>&1 ||
		{ tap_result 1 "$program without the shim" "$(<"$folder/out")" && return; }
	GPUSHIM_ALLOC_CONF=$base,$settings "$TOP/scripts/sim-run" --build "$BUILD" "$@" --no-shim \
		env LD_PRELOAD="$BUILD/check/libgpushim.so" "$BUILD/tests/fault/$program" shim "$plain" short \
		>"$folder/out" 2>&1
	status=$?
	rm -f "$folder"/gpushim.*
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			number=$((number + 1)) scenarios=$((scenarios + 1))
			[[ $line =~ \ ([0-9]+)\ faults: ]] && faults=$((faults + BASH_REMATCH[1]))
			[[ $line =~ \ ([0-9]+)\ own\ points ]] && points=$((points + BASH_REMATCH[1]))
			tap_count=$((tap_count + 1))
			echo "${line%%ok *}ok $tap_count - ${program#rt_fault_}, $settings${*:+, }$*: ${line#* - }"
			;;
		'1..'*) plan=$line ;;
		*) echo "$line" ;;
		esac
	done <"$folder/out"
	is "$program, $settings${*:+, }$*: all of its scenarios ran" "status $status, $plan" "status 0, 1..$number"
	[ $number -gt 0 ] || ok "$program, $settings: ran" false
}

for program in "$BUILD"/tests/fault/*_fault_*; do
	[ -x "$program" ] || continue
	program=${program##*/}
	case $program in
	*.d | rt_fault_repeat) continue ;;
	drv_*) devices=2 ;;
	*) devices=1 ;;
	esac
	sweep "$program" snapshot:off --devices $devices
done
sweep rt_fault_memory backend:cudamalloc,snapshot:oom
sweep drv_fault_context backend:cudamalloc --devices 2
sweep rt_fault_repeat graph:auto,graph_chunk:8,submit_deadline_us:0,snapshot:off
ok "allocations of the shim's own failed too" test $points -gt 0
echo "# $faults faults fired in $scenarios scenarios"
done_testing
