#!/bin/bash
# SIM_THREADS=baton: with threads too, one seed is one run; races and deadlocks between driver calls are found by seeds.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GPUSHIM_ALLOC_CONF=snapshot:off

baton() { # baton OPTION.. PROGRAM WHAT
	timeout 100 "$TOP/scripts/sim-run" --build "$BUILD" --threads baton "${@:1:$#-2}" \
		"$BUILD/tests/preload/${*: -2:1}" "${!#}"
}

same() { # same NAME TIMES OPTION.. PROGRAM WHAT: as often with the same output and the same log
	local name=$1 times=$2 i
	shift 2
	for ((i = 0; i < times; i++)); do
		baton --log log "$@" >out 2>&1
		echo "status $?" >>out
		cat out <(tail -n +2 log) | md5sum
	done >sums
	is "$name: $times times the same" "$(sort -u sums | wc -l)" 1
}

for shim in '' --no-shim; do
	# shellcheck disable=SC2086
	same "turns ${shim:-with the shim}" 20 $shim --policy random --seed 11 rt_threads turns
	like 'and it did its work' "$(cat out)" '^[0-3]{96} made 0 shared 0
status 0$'
	ok 'and was free to choose' test "$(grep -c ^thread log)" -gt 10
done
for seed in 1 2 3 4 5 6 7 8; do
	baton --seed $seed rt_threads turns
done >outs
is 'another seed is another order' "$(sort -u outs | wc -l)" 8
# By the clock idle memory is looked for, with calls of the driver (shim/core/purge.h), and lanes end (allocator/lend.h); without both a
# seed is one run here too.
GPUSHIM_ALLOC_CONF=snapshot:off,watch:off,lanes:off same 'threads that allocate without pause, and forks' 5 --seed 2 rt_storm fork
like 'and they did their work' "$(cat out)" '40 of 40 children are well
0 errors'
GPUSHIM_ALLOC_CONF=snapshot:off,watch:off,lanes:off same 'threads that capture without pause' 2 --policy random --seed 2 rt_capture_threads storm
like 'and they did their work' "$(cat out)" '0 captures went wrong, 0 words wrong, served 1'
same 'a thread that asks the driver until another one sets a flag' 3 --seed 3 rt_threads spin

# Planted races: some seeds find them, and their log shows it again. What is right is never found.
for what in made-twice no-lock order; do
	found=
	for seed in $(seq 40); do
		baton --no-shim --seed "$seed" --log "$what.log" rt_threads $what >/dev/null 2>&1 || { found=$seed && break; }
	done
	ok "$what is found by a seed (${found:-none} of 40)" test -n "$found"
	before=$(baton --no-shim --seed "${found:-1}" rt_threads $what 2>&1; echo $?)
	is "$what: the log shows it again" "$(sed 's/, seed [0-9]*//; s/SIM_.*//; s/0x.*//' \
		<<<"$(baton --no-shim --replay $what.log rt_threads $what 2>&1; echo $?)")" \
		"$(sed 's/, seed [0-9]*//; s/SIM_.*//; s/0x.*//' <<<"$before")"
	output=$("$TOP/scripts/sim-shrink" --keep short --log $what.log \
		"$TOP/scripts/sim-run" --build "$BUILD" --threads baton --no-shim "$BUILD/tests/preload/rt_threads" $what)
	like "$what: a short log is enough" "$output" '(^|
)[1-9] of [0-9]+ choices are needed'
done
like 'a deadlock says who waits' "$before" \
	'^gpushim-sim: deadlock: no thread can go on \(policy late, seed .*
.*thread [0-9]+ waits in pthread_mutex_lock for 0x'
is 'and has a status of its own' "${before##*$'\n'}" 87
failed=0
for seed in $(seq 40); do
	baton --no-shim --seed "$seed" rt_threads lock >/dev/null 2>&1 || failed=$((failed + 1))
done
is 'with its lock the list is never shared' $failed 0
# Without the shim: with it the other process is asked over a socket, within a time that a busy machine can exceed.
ok 'two processes that read what the other writes' timeout 60 "$TOP/scripts/sim-run" \
	--build "$BUILD" --threads baton --no-shim "$BUILD/tests/conformance/drv_ipc_pair"
is 'without the wrappers it is refused' "$(SIM_THREADS=baton LD_LIBRARY_PATH=$BUILD/sim "$BUILD/tests/preload/rt_threads" lock 2>&1)" \
	'gpushim-sim: SIM_THREADS=baton: wanted libsimthreads.so to be preloaded; use scripts/sim-run --threads baton'
done_testing
