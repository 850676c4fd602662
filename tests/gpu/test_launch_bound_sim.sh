#!/bin/bash
# The programs of launch_bound on the simulated device, with kernels that the host runs: with submit:thread and graph:auto each pass
# leaves what the host makes of it, whenever queued work runs. The debug build makes graphs of what repeats whether it pays or not.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

program=$BUILD/gpu/launch_bound_sim
mkdir "$folder/eager"
ln -s "$BUILD/sim" "$folder/eager/sim"
ln -s "$BUILD/check/libgpushim.so" "$folder/eager/libgpushim.so"

declare -A steps=( # fewer than usual, where that is enough
	[stencil]=400 [runge-kutta]=80 [lu]=4 [n-body]=200 [gradients]=1 [multigrid]=12 [wavefront]=1 [sort]=3 [reduction]=30
	[automaton]=500 [histogram]=20 [transfers]=40 [temporaries]=100 [transform]=20 [paths]=3
)
declare -A shares=( # of the launches in percent, at least, that graphs make
	[stencil]=80 [runge-kutta]=80 [lu]=60 [n-body]=80 [gradients]=40 [multigrid]=30 [wavefront]=60 [sort]=40 [reduction]=70
	[automaton]=80 [temporaries]=70 [transform]=70 [paths]=70
)

export GPUSHIM_ALLOC_CONF=snapshot:off,submit:thread,graph:auto,submit_deadline_us:0,log:debug
names=$("$TOP/scripts/sim-run" --no-shim --build "$BUILD" "$program")
is "as many as are known here" "$(wc -w <<<"$names")" ${#steps[@]}
for name in $names; do
	sim --build "$folder/eager" --policy random --seed ${#name} "$program" "$name" "${steps[$name]}" check
	is "$name" "$status $(head -n 1 "$folder/out")$(grep "^$name: " "$folder/err")" "0 right $name 16 passes"
	[ -n "${shares[$name]-}" ] || continue
	share=$(sed -n 's/^gpushim: \([0-9]*\) of \([0-9]*\) launches were made by.*/\1 \2/p' "$folder/err" |
		awk '{ print $2 == 0 ? 0 : int(100 * $1 / $2) }')
	ok "of its launches, graphs make ${shares[$name]} % or more ($share)" [ "${share:-0}" -ge "${shares[$name]}" ]
done
done_testing
