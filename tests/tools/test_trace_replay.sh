#!/bin/bash
# timeout 120
# trace-replay on the simulated device: its figures on a trace whose peaks are known, and what bad input gets.
set -u
work=${TMPDIR:-/tmp}
export GPUSHIM_ALLOC_CONF=snapshot_dir:$work
replay=$BUILD/trace-replay
count=0 failed=0

check() { # check NAME CONDITION..
	local name=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		failed=$((failed + 1))
	fi
}

run() { # run ARGUMENT..: sets out, err, status
	out=$("$TOP/scripts/sim-run" $shim --build "$BUILD" "$replay" "$@" 2>"$work/err")
	status=$?
	err=$(cat "$work/err")
}

has() { # has KEY VALUE: in the JSON line
	[[ $out == *"\"$1\": $2"[,}]* ]]
}

# Live 3 MiB at most; with what is freed and still in use 4 MiB. Block 9 is older than the recording.
cat >"$work/trace.csv" <<'END'
# op,id,bytes,stream
S,0,20971520,0
f,9,4096,0
a,0,1048576,0
a,1,2097152,1
f,0,1048576,0
a,2,1048576,1
c,0,1048576,0
f,1,2097152,1
c,1,2097152,1
END
gzip -k "$work/trace.csv"
head -c 60 "$work/trace.csv.gz" >"$work/cut.csv.gz"

for shim in --no-shim ""; do
	for api in async sync; do
		run "$work/trace.csv.gz" --api $api --passes 3 --json
		check "$api ${shim:-with the shim}: ends well" [ "$status" = 0 ]
		check "$api ${shim:-with the shim}: operations" has ops 5
		check "$api ${shim:-with the shim}: peak live" has peak_live_bytes 3145728
		check "$api ${shim:-with the shim}: peak live and pending" has peak_live_pending_bytes 4194304
		check "$api ${shim:-with the shim}: no failure" has failures 0
	done
done
shim=--no-shim
run "$work/trace.csv" --passes 1
check "an unpacked trace, as text" grep -q "^async: 5 operations" <<<"$out"
run "$work/cut.csv.gz"
check "a truncated trace: one line, status 2" [ "$status $(wc -l <<<"$err")" = "2 1" ]
check "which names the file" grep -q "cut.csv.gz is damaged" <<<"$err"
printf 'a,0,100,0\nf,0,200,0\nx%0254da,1,50,0\n' 7 >"$work/odd.csv"
run "$work/odd.csv" --passes 1 --json
check "a free with another size, a line that is too long: the peak is that of the blocks" has peak_live_bytes 100
printf 'a,4294967294,100,0\n' >"$work/ids.csv"
run "$work/ids.csv"
check "an id beyond all sense: one line, status 2" [ "$status $(wc -l <<<"$err")" = "2 1" ]
run "$work/none.csv"
check "a missing trace: status 2" [ "$status" = 2 ]
run "$work/trace.csv" --api maybe
check "a bad argument: usage, status 2" [ "$status" = 2 ]
run "$work/trace.csv" --api sync --pending
check "sync and pending: status 2" [ "$status" = 2 ]
run "$work/trace.csv" --api torch
check "PyTorch's allocator where there is none: one line, status 2" [ "$status $(wc -l <<<"$err")" = "2 1" ]
run "$work/trace.csv" --outside --json --passes 1 <<<go
check "outside: ready is said first" grep -q '^ready' <<<"$out"
check "then the replay runs" has ops 5
run "$work/trace.csv" --outside </dev/null
check "outside, and nobody answers: status 2" [ "$status" = 2 ]
echo "1..$count"
exit $((failed > 0))
