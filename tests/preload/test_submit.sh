#!/bin/bash
# sanitizers asan ubsan
# timeout 300
# submit:thread: launches that are put off change nothing that the program sees (H3, H9, H15-H19), under every policy of
# the simulated device; and they are put off.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,submit_deadline_us:0,log:debug

put_off() { # how many launches the last run put off
	sed -n 's/^gpushim: put off: \([0-9]*\) launches.*/\1/p' "$folder/err" | grep . || echo 0
}

declare -A names=(
	[chain]='a long chain of launches'
	[turns]='two streams in turns, by events (H15)'
	[legacy]='the legacy stream and a blocking one'
	[refused]='a launch that is refused is refused at once (H18)'
	[params]='parameters belong to the program again when the launch returns'
	[memory]='memory is freed, unmapped and used again (H3)'
	[callbacks]='host functions and copies between launches'
	[threads]='several threads on one stream'
	[capture]='captures of the program (H9)'
	[streams]='streams end with work queued (H6)'
	[times]='times between events'
	[forks]='a fork with work queued (H33)'
	[raw_forks]='children made without fork() (H33)'
	[exits]='the program ends with work queued'
	[exits_busy]='the program ends while a thread launches'
	[attribute]='an attribute of the kernel changes (H18)'
)
count=0
for case in "${!names[@]}"; do
	for policy in late random; do
		same "${names[$case]}, $policy" --policy $policy "$programs/rt_submit" $case
	done
	count=$((count + $(put_off)))
done
ok "of these $count launches were put off" test $count -gt 2000
same 'the host watches mapped memory and makes no call (H19)' --policy in-order "$programs/rt_submit" spin
ok 'there too' test "$(put_off)" -gt 0
same 'two devices (H15)' --devices 2 "$programs/rt_submit" devices
ok 'there too' test "$(put_off)" -gt 0
same 'per-thread default streams (H16)' "$programs/rt_submit" per_thread
is 'are left alone' "$(put_off)" 0

for seed in 1 2; do
	same "a random program, seed $seed" --seed $seed --policy random "$programs/rt_mix" $seed 2000
	same "with graphs, seed $seed" --seed $seed --policy random "$programs/rt_graph" $seed 200
done

# With the debug build all is put off that may be, and the turns of threads are those of the seed.
mkdir "$folder/eager"
ln -s "$BUILD/sim" "$folder/eager/sim"
ln -s "$BUILD/check/libgpushim.so" "$folder/eager/libgpushim.so"
eager() { # eager CASE SEED: what the case prints
	(cd "$folder" && SIM_SHADOW=off GPUSHIM_ALLOC_CONF=$GPUSHIM_ALLOC_CONF,log:error,watch:off timeout 120 "$TOP/scripts/sim-run" \
		--build "$folder/eager" --threads baton --policy late --seed "$2" "$programs/rt_submit" "$1" 2>&1)
}
name='what another thread puts off and frees while one waits is not idle (H3)'
if [ -e "$folder/eager/libgpushim.so" ]; then
	wrong=0
	for seed in 29 39 68 105 123 132; do # at which it goes wrong without the flush in gs_moment_take
		[ "$(eager waits_beside $seed)" = 'errors 0' ] || wrong=$((wrong + 1))
	done
	is "$name" $wrong 0
	is "what sets an attribute to what it is waits for nothing" "$("$TOP/scripts/sim-run" --build "$folder/eager" \
		"$programs/drv_put_off" same 2>&1 | grep -v '^gpushim: ')" ''
else
	skip "$name" 'no debug build of libgpushim.so'
fi

export SIM_FAULT=cuLaunchKernel:100:700
sim "$programs/rt_submit" chain
unset SIM_FAULT
is 'an error of a launch that was put off ends the program at a later call' "$status" 9

sim --no-shim "$programs/rt_submit" lacks
plain=$(<"$folder/out")
export SIM_FAULT=cuLaunchKernel:100:2
sim "$programs/rt_submit" lacks
unset SIM_FAULT
is 'a launch that was put off and lacks memory gets what is idle (H28)' "$(<"$folder/out") $status" "$plain 0"

same 'a library that calls the driver past gpushim comes (H17)' "$programs/rt_submit" imports "$programs/lib_drv_array.so"
ok 'then nothing more is put off' test "$(put_off)" -gt 0 -a "$(put_off)" -lt 200
is 'which is said once' "$(grep -c 'no longer put off: the program imports cuArrayDestroy, which gpushim does not know' "$folder/err")" 1

name='it is seen while launches are held, too (H17)'
if [ -e "$folder/eager/libgpushim.so" ]; then
	GPUSHIM_ALLOC_CONF=$GPUSHIM_ALLOC_CONF,graph:auto sim --build "$folder/eager" "$programs/rt_submit" imports_busy "$programs/lib_drv_array.so"
	ok "$name" test "$(put_off)" -gt 0 -a "$(put_off)" -lt 200
else
	skip "$name" 'no debug build of libgpushim.so'
fi

quiet() { # quiet VARIABLE=VALUE..: runs the chain with these
	rm -f "$folder"/gpushim.*
	(cd "$folder" && env "$@" timeout 120 "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_submit" chain >out 2>err)
	put_off
}
is 'not under CUDA_LAUNCH_BLOCKING' "$(quiet CUDA_LAUNCH_BLOCKING=1)" 0
is 'nor where a tool is injected (H22)' "$(quiet CUDA_INJECTION64_PATH=/nowhere.so)" 0
is 'nor with one processor (H19)' "$(cd "$folder" && taskset -c 0 "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_submit" chain 2>&1 | sed -n 's/.*does nothing here: //p')" 'the process has one processor'
done_testing
