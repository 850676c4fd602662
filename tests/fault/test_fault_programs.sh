#!/bin/bash
# slow
# timeout 300
# Fail the Nth, in whole programs that end at the first error that they do not expect: a seeded sample of (function, N)
# of all driver calls that they make. Whatever a program makes of it, it ends in time and of its own will, no work meets
# memory that is not its own, the books of the allocator hold, and what it names is the error that the driver gave.
#
#   test_fault_programs.sh [SAMPLES [SEED]]    SAMPLES of each program, default 4
. "$TOP/tests/lib/tap.sh"

samples=${1:-4} seed=${2:-1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
export GPUSHIM_ALLOC_CONF=history:1000,stacks:off,snapshot:off,device_time:0,log:error
declare -A names=([2]=cudaErrorMemoryAllocation [999]=cudaErrorUnknown)
total=0 taken=0 fired=0

faulty() { # faulty FAULT COMMAND..: its output in $folder/out, its status
	local fault=$1
	shift
	rm -f "$folder/fired"
	SIM_FAULT=$fault SIM_FAULT_REPORT=$folder/fired timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim \
		env LD_PRELOAD="$BUILD/check/libgpushim.so" "$@" >"$folder/out" 2>&1
}

# The program may go on, may fail in a way of its own, or may name the error that was made: no other.
judge() { # judge STATUS CODE: says what is wrong
	local other
	case $1 in
	124) echo 'hangs' ;;
	86) echo 'work met memory that was not its own' ;;
	12[5-9] | 1[3-9][0-9]) echo "dies, status $1" ;;
	esac
	grep -q 'assert' "$folder/out" && echo 'the books do not hold'
	other=$(grep -o ': cudaError[A-Za-z]*' "$folder/out" | grep -v -e "${names[$2]}" -e cudaErrorMemoryAllocation)
	[ -z "$other" ] || echo "names$other"
}

sweep() { # sweep NAME COMMAND..
	local name=$1 fault code wrong=0 here=0 calls
	shift
	rm -f "$folder/calls"
	SIM_CALLS=$folder/calls "$TOP/scripts/sim-run" --build "$BUILD" --no-shim env LD_PRELOAD="$BUILD/check/libgpushim.so" "$@" \
		>"$folder/out" 2>&1 || { ok "$name: runs without a fault" cat "$folder/out" false && return; }
	calls=$(grep -v '^cuGetProcAddress' "$folder/calls" | awk '{ n += $2 } END { print n }')
	while read -r fault code; do
		faulty "$fault:$code" "$@"
		problem=$(judge $? "$code")
		here=$((here + 1))
		[ -s "$folder/fired" ] && fired=$((fired + 1))
		[ -z "$problem" ] && continue
		wrong=$((wrong + 1))
		echo "# $name: SIM_FAULT=$fault:$code: $problem"
		head -n 3 "$folder/out" | sed 's/^/#   /'
	done < <(python3 - "$folder/calls" "$samples" "$seed" <<'END'
import random, sys
path, samples, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
counts = [line.split() for line in open(path) if not line.startswith("cuGetProcAddress")]
# Every function has its turn before any has a second one, so that rare ones are not left out.
draw.shuffle(counts)
for i in range(samples):
    function, count = counts[i % len(counts)]
    print(f"{function}:{draw.randint(1, int(count))} {draw.choice((2, 999))}")
END
	)
	total=$((total + calls)) taken=$((taken + here))
	is "$name: $here faults of $calls driver calls, each ends well" "$wrong" 0
}

programs=$BUILD/tests/preload
sweep rt_mix "$programs/rt_mix" 3 150
sweep rt_graph "$programs/rt_graph" 3 80
sweep rt_codes "$programs/rt_codes"
sweep rt_demo "$programs/rt_demo"
sweep rt_capture "$programs/rt_capture"
sweep rt_torch "$BUILD/tests/sim/torch/rt_torch" "$BUILD/sim/torch/libc10_cuda.so" train decode graph books empty

# Likewise pages, from the start of the process to the end of its snapshot: one mapping fails, or all from it on.
plain=$("$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$programs/rt_mix" 3 60)
for passes in 0 1 2 3 5 8 13 21; do
	for times in 1 999; do
		output=$(GPUSHIM_FAULT=PAGES:$passes:$times GPUSHIM_ALLOC_CONF=history:1000,hazards:on,graph:auto,submit_deadline_us:0 \
			timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim env LD_PRELOAD="$BUILD/check/libgpushim.so" \
			"$programs/rt_mix" 3 60 2>/dev/null)
		is "no pages, PAGES:$passes:$times: the program" "$?:$output" "0:$plain"
		for snapshot in gpushim.*; do
			[ ! -e "$snapshot" ] || ok 'its snapshot is whole' "$BUILD/gpushim-report" summary "$snapshot"
		done
		rm -f gpushim.*
	done
done
ok 'faults were met' [ "$fired" -gt $((taken / 2)) ]
echo "# $taken faults sampled of $total driver calls (seed $seed), $fired fired"
done_testing
