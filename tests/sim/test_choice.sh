#!/bin/bash
# The scheduler of the simulated driver: what each policy does, the decision log, its replay, and how it is shortened.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

choice() { # choice OPTION.. WHAT: runs rt_choice
	timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim "${@:1:$#-1}" "$BUILD/tests/preload/rt_choice" "${!#}"
}

order() { # order POLICY SEED: the streams in the order of their kernels, $before anything waits and in $all; $ranks
	choice --policy "$1" --seed "$2" --log "$folder/log" order >"$folder/out"
	{ read -r before && read -r all; } <"$folder/out"
	ranks=$(grep -c '^rank' "$folder/log")
}

seeds='1 2 3 4 5 6'
turns=012012012012012012012012012012

order late 1
is 'late: nothing runs that nobody waits for' "$before" ''
is 'late: no choice is made' "$(grep -c '^step' log)" 0
order in-order 1
is 'in-order: as submitted' "$before" $turns
distinct=()
for seed in $seeds; do
	order random "$seed"
	distinct+=("$all")
	ok "random, seed $seed: each stream runs some of its work" test -n "${before//[!0]/}" -a -n "${before//[!1]/}" \
		-a -n "${before//[!2]/}"
	ok "random, seed $seed: in an order of its own" test "$all" != $turns
done
is 'random: every seed is another order' "$(printf '%s\n' "${distinct[@]}" | sort -u | wc -l)" 6
for seed in $seeds; do
	order starve "$seed"
	is "starve, seed $seed: exactly one stream runs nothing" "$(fold -w1 <<<"$before" | sort -u | wc -w)" 2
	like "starve, seed $seed: it runs when it must" "$all" '0.*' 
	is "starve, seed $seed: all of it" "${#all}" 30
done
distinct=()
strict=0
for seed in $seeds 7 8 9 10 11 12; do
	order priority "$seed"
	distinct+=("$before")
	if [ "$ranks" = 0 ]; then
		like "priority, seed $seed: nothing changes, so the highest that is ready runs" "$before" '^1*2*0*$|^1*0*2*$'
		strict=$((strict + 1))
	fi
	# Runs of equal digits: each change adds a few, random work would have about twenty.
	runs=$(fold -w1 <<<"$before" | uniq | wc -l)
	ok "priority, seed $seed: $ranks changes leave $runs runs" test "$runs" -le $((4 + 3 * ranks))
done
ok 'priority: the changes make orders differ' test "$(printf '%s\n' "${distinct[@]}" | sort -u | wc -l)" -ge 4

# The log is the run.
for policy in in-order random starve priority; do
	choice --policy $policy --seed 7 --log one order >out.one
	choice --policy $policy --seed 7 --log two order >out.two
	ok "$policy: one seed, one log" cmp <(tail -n +2 one) <(tail -n +2 two)
	choice --seed 9 --replay one --log again order >out.again
	ok "$policy: its replay makes the same choices" cmp <(grep -v '^rank' one | tail -n +2) <(tail -n +2 again)
	is "$policy: with the same outcome" "$(cat out.again)" "$(cat out.one)"
done
head -c 300 one >torn
printf '\0\0\0\0' >>torn
ok 'a log that ends in the middle can be replayed' choice --replay torn order
echo nonsense >nonsense
is 'a file that is no log is refused' "$(choice --replay nonsense order 2>&1)" \
	'gpushim-sim: SIM_REPLAY=nonsense: wanted a file that SIM_LOG wrote'
{ head -n 1 one && echo 'step forward'; } >nonsense
is 'nor a line that is none' "$(choice --replay nonsense order 2>&1)" \
	"gpushim-sim: SIM_REPLAY=nonsense: cannot read 'step forward'"

# A failure that depends on what runs early, and what it needs.
is 'the planted race goes well when all work is late' "$(choice race; echo $?)" 0
is 'and not when work is early' "$(choice --policy in-order race; echo $?)" 'the reader was overtaken
3'
for policy in random in-order; do
	output=$("$TOP/scripts/sim-shrink" --keep short --match overtaken \
		"$TOP/scripts/sim-run" --build "$BUILD" --no-shim --policy $policy --seed 3 "$BUILD/tests/preload/rt_choice" race)
	like "$policy: the four steps of the stream that overtakes are enough" "$output" '4 of [0-9]+ choices are needed'
	is "$policy: they are its own" "$(sed 1d short | grep -v 'stream 2 kernel [12]$')" ''
	is "$policy: the short log fails as the long one" "$(choice --replay short race; echo $?)" 'the reader was overtaken
3'
	sed -i 2d short
	is "$policy: and without one of them it does not" "$(choice --replay short race; echo $?)" 0
done
output=$("$TOP/scripts/sim-shrink" "$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$BUILD/tests/preload/rt_choice" race 2>&1)
is 'what does not fail cannot be shortened' "$?:$output" '1:sim-shrink: that run did not fail (status 0)'

# SIM_STATS.
export SIM_STATS=$folder/stats
choice --policy random --seed 4 order >out.stats
like 'one line a process' "$(cat stats)" '^rt_choice 4 random [0-9]+ [0-9]+ 0 [0-9]+ [0-9a-f]{16}$'
done_testing
