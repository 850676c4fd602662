#!/bin/bash
# sanitizers asan ubsan
# timeout 600
# graph:auto: launches that are held, patched and made by graphs change nothing that the program sees (H3, H9, H15-H23); and
# those that repeat are made by graphs. The debug build replays whether it pays or not, so what is made by graphs there does not depend
# on how fast the machine is.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off,graph:auto,submit_deadline_us:0,log:debug,purge_ms:0

share() { # of the launches that came by in the last run, how many percent graphs made
	sed -n 's/^gpushim: \([0-9]*\) of \([0-9]*\) launches were made by.*/\1 \2/p' "$folder/err" |
		awk '{ print $2 == 0 ? 0 : int(100 * $1 / $2); found = 1 } END { if (!found) print 0 }'
}

declare -A names=(
	[constant]='90:a kernel with the same arguments'
	[ping_pong]='90:pointers that change places'
	[changing]='90:arguments that all change (H23)'
	[two_kinds]='60:two kinds of steps in turns'
	[aperiodic]='0:steps of drawn length'
	[refused]='70:a launch is refused in the middle of a step (H18)'
	[unload]='60:code is unloaded in the middle of a step'
	[kernels]='80:kernels by the handle for all contexts'
	[packed]='80:arguments that the program has packed'
	[full]='30:the device is full'
	[streams]='50:streams end in the middle of a step (H6)'
	[attribute]='60:an attribute of the kernel changes (H18)'
	[capture]='50:the program captures in the middle of a step (H9)'
	[forks]='70:forks in the middle of a step (H33)'
	[exits]='80:the program ends with launches held'
	[two_streams]='70:two streams, with events'
	[legacy]='35:the legacy stream and a blocking one'
	[contexts]='50:two contexts, which end (H6)'
	[memory]='0:memory is freed and used again (H3)'
	[attributes]='40:attributes of launches'
)

# The debug build holds launches for long enough on any machine; it is the one that has to show graphs.
mkdir "$folder/eager"
ln -s "$BUILD/sim" "$folder/eager/sim"
ln -s "$BUILD/check/libgpushim.so" "$folder/eager/libgpushim.so"
eager=
[ ! -e "$folder/eager/libgpushim.so" ] || eager="--build $folder/eager"

run() { # run CASE OPTION..: with the debug build, if there is one, and with the other
	local case=$1 least=${names[$1]%%:*} name=${names[$1]#*:} program=$programs/rt_replay
	shift
	case $case in unload | contexts | kernels | packed | full) program=$programs/drv_replay ;; esac
	same "$name" "$@" "$program" "$case"
	# shellcheck disable=SC2086
	same "$name, eagerly" $eager "$@" "$program" "$case"
	if [ -n "$eager" ]; then
		got=$(share)
		ok "$got % of the launches are made by graphs, at least $least" test "$got" -ge "$least"
	fi
}
for case in "${!names[@]}"; do
	run "$case" --policy late
done
run changing --policy random --seed 1
run two_kinds --policy starve --seed 2
names[spin]='0:the host watches mapped memory and makes no call (H19)'
run spin --policy in-order

for seed in 1 2; do
	# shellcheck disable=SC2086
	same "a random program, seed $seed" $eager --seed $seed --policy random "$programs/rt_mix" $seed 3000
	# shellcheck disable=SC2086
	same "with graphs of its own, seed $seed" $eager --seed $seed --policy random "$programs/rt_graph" $seed 300
done

# shellcheck disable=SC2086
sim $eager --no-shim "$programs/drv_graphs_end"
rows=$(cat "$folder/out")
for row in $rows; do
	[ -n "$eager" ] || break
	# shellcheck disable=SC2086
	sim $eager "$programs/drv_graphs_end" "$row"
	is "graphs are gone when they have to be: $row (H18)" "$status $(cat "$folder/out")" '0 '
	[ "$row" != lack ] || like 'what is lacking is said, and the largest hole' "$(cat "$folder/err")" \
		'out of memory on device 0: asked .*, largest hole [0-9.]* MiB, free on the device '
done

# What the driver refuses is made one by one.
for fault in cuGraphCreate:1:2 cuGraphAddKernelNode_v2:20:2 cuGraphInstantiateWithFlags:1:2 cuGraphLaunch:2:2 \
	cuGraphExecKernelNodeSetParams_v2:3:1; do
	plain=$(cd "$folder" && "$TOP/scripts/sim-run" --no-shim --build "$BUILD" "$programs/rt_replay" changing 2>&1)
	# shellcheck disable=SC2086
	SIM_FAULT=$fault sim $eager "$programs/rt_replay" changing
	is "${fault%%:*} is refused" "$(cat "$folder/out")" "$plain"
done

# A sticky error inside a trace comes out at a later call, as it is.
SIM_FAULT=cuGraphLaunch:3:700,cuLaunchKernel:300:700 sim $eager "$programs/rt_replay" changing
is 'an error of launches that were held ends the program at a later call' "$status" 9

sim --policy late "$programs/rt_replay" aperiodic
is 'what does not repeat is not held' "$(grep -c 'launches were made by 0 graphs' "$folder/err")" 1
done_testing
