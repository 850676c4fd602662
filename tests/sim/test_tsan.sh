#!/bin/bash
# Programs with several threads under ThreadSanitizer, with a shim that is built for it: `make tsan`. The simulated driver
# hides its own lock from the sanitizer (tests/sim/cuda/sim_tsan.h), so that races of the shim do not hide behind it.
# sanitizers
# timeout 1200
. "$TOP/tests/lib/tap.sh"

shim=$BUILD/check/libgpushim_doors.so
case $BUILD in
*/tsan) ;;
*) echo '1..0 # SKIP for make tsan' && exit 0 ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export LD_LIBRARY_PATH=$BUILD/sim TSAN_OPTIONS="exitcode=66 history_size=4"

races() { # races STATUS POLICY CONF PROGRAM [WHAT]: no race is reported, and the program ends with that status
	local status=$1 conf=$3 got
	export SIM_POLICY=$2
	shift 3
	GPUSHIM_ALLOC_CONF=$conf LD_PRELOAD=$shim timeout 400 "$BUILD/tests/$1" "${@:2}" >out 2>&1
	got=$?
	is "${*##*/}, $SIM_POLICY, $conf" "$got $(grep '^SUMMARY' out)" "$status "
	[ $got = "$status" ] || grep -v '^ok' out | head -n 60 | sed 's/^/# /'
}

for conf in stacks:off,history:0,watch:off snapshot:exit backend:cudamalloc backend:off; do
	races 0 random $conf preload/rt_threads turns
	races 0 late $conf preload/rt_ends storm
	races 0 random $conf preload/rt_storm fork
	races 0 random $conf preload/drv_races
done
races 0 late free_sync:always preload/rt_threads turns
races 0 late snapshot:exit preload/rt_threads lock
races 0 late snapshot:exit preload/drv_races
races 0 late snapshot:kill preload/drv_races
for what in growth many mallocs wrong-thread ended-elsewhere storm; do
	races 0 random snapshot:exit preload/rt_capture_threads $what
done
races 6 random snapshot:exit preload/rt_storm exit
races 6 random snapshot:exit preload/rt_storm quit
# What is put off is handed on by a thread of the shim's own, and graphs are made there.
for conf in graph:auto,submit_deadline_us:0,snapshot:exit,hazards:on graph:auto,submit_deadline_us:0,backend:cudamalloc; do
	races 0 random $conf preload/rt_threads turns
	races 0 random $conf preload/rt_storm fork
	races 0 late $conf preload/drv_races
	races 0 random $conf preload/rt_capture_threads storm
	for what in threads waits_beside memory exits_busy; do
		races 0 random $conf preload/rt_submit $what
	done
	races 0 late $conf preload/drv_submit_work threads
	for what in changing two_streams; do
		races 0 late $conf preload/rt_replay $what
	done
done

# A check that cannot fail is none: a planted race is reported, though driver calls lie between the accesses.
GPUSHIM_ALLOC_CONF=snapshot:off LD_PRELOAD=$shim "$BUILD/tests/preload/rt_threads" no-lock >out 2>&1
is 'a planted race is reported' "$? $(grep -c '^SUMMARY: ThreadSanitizer: data race .* in block_take' out | sed 's/[1-9][0-9]*/some/')" \
	'66 some'
done_testing
