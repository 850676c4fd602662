#!/bin/bash
# timeout 300
# Snapshots in the middle of a program: every N seconds, on a signal, at the peak, on request from outside.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"
report=$BUILD/gpushim-report

reasons() { # of all snapshots in the folder, sorted
	for file in "$folder"/gpushim.*.json; do
		[ -e "$file" ] && python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["meta"]["reason"])' "$file"
	done | sort | xargs
}

run() { # run CONF ARGUMENT..: to its end
	rm -f "$folder"/gpushim.*
	GPUSHIM_ALLOC_CONF=$1 sim "$programs/rt_trigger" "${@:2}"
	pid=$(grep -x '[0-9]*' "$folder/out")
}

run snapshot:every=1 1300
like 'every=1: written while it runs' "$(reasons)" '^time'
run snapshot:every=1,watch:off 1300
like 'every=1 with watch:off' "$(reasons)" '^time'
run snapshot:every=3600+exit 20
is 'every=3600 in a short program: only at exit' "$(reasons)" exit

run snapshot:signal raise 20
is 'SIGUSR2: a snapshot, and the program goes on' "$status $(reasons)" '0 signal'
is 'its name' "$(basename "$folder"/gpushim.*.json)" "gpushim.$pid.signal.json"
run snapshot:signal own raise 20
is 'the program handles SIGUSR2: its handler runs, no snapshot' "$(grep handled "$folder/out")$(reasons)" 'handled 1'
like 'which is said' "$(cat "$folder/err")" 'snapshot:signal has no effect'
run snapshot:signal late raise 20
is 'a handler that comes later takes its place' "$(grep handled "$folder/out")$(reasons)" 'handled 1'
run snapshot:signal child 20
is 'a signal to the child of a fork ends it, as ever, and writes nothing' \
	"$(grep child "$folder/out")$(reasons)" 'child 12'
{ run snapshot:exit raise 20; } 2>/dev/null
is 'without the setting the signal ends the program, as ever' "$status" 140
run snapshot:off 20

alive() { # MiB in blocks, by the snapshot of the peak
	"$report" summary --json "$folder"/gpushim.*.peak.json 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["devices"][0]["gauges"]["allocated_bytes"]["now"] >> 20)' 2>/dev/null
}
rm -f "$folder/end"
(for _ in $(seq 300); do
	[ "$(alive)" = 20 ] && break
	sleep 0.1
done; touch "$folder/end") &
run snapshot:peak rise "$folder/end"
wait
is 'peak: one snapshot' "$(reasons)" peak
is 'its name' "$(basename "$folder"/gpushim.*.json)" "gpushim.$pid.peak.json"
is 'sooner or later it shows the most that was ever alive' "$(alive)" 20

like 'asking a process that has ended' "$("$report" live "$pid" 2>&1)" 'there is no such process'
"$report" snapshot "$pid" 2>/dev/null
is 'status 2' $? 2
like 'a process without gpushim' "$("$report" snapshot $$ 2>&1)" 'does not run under gpushim'
like 'no number' "$("$report" live 12x 2>&1)" '"12x" is no number of a process'

rm -f "$folder"/gpushim.* "$folder/end" "$folder/pid"
(cd "$folder" && GPUSHIM_ALLOC_CONF=snapshot:off exec "$TOP/scripts/sim-run" --build "$BUILD" \
	"$programs/rt_trigger" "$folder/end" >"$folder/pid" 2>"$folder/err") &
for _ in $(seq 500); do
	pid=$(grep -x '[0-9]*' "$folder/pid" 2>/dev/null) && break
	sleep 0.02
done
written=$("$report" snapshot "$pid")
is 'a request from outside: its name is printed' "$written" "$folder/gpushim.$pid.1.json"
is 'and it is whole' "$(reasons)" request
is 'once more, as JSON' "$("$report" snapshot --json "$pid")" "{\"snapshot\":\"$folder/gpushim.$pid.2.json\"}"
lines=$("$report" live -n 2 "$pid")
is 'live: two lines' "$(grep -c 'device 0: live .* held 2.0 MiB.* launches/s' <<<"$lines")" 2
like 'live as JSON' "$("$report" live -n 1 --json "$pid")" '"reserved_bytes":2097152'
touch "$folder/end"
wait

if unshare -pf --mount-proc true 2>/dev/null; then
	rm -f "$folder"/gpushim.* "$folder/end" "$folder/pid"
	(cd "$folder" && GPUSHIM_ALLOC_CONF=snapshot:off exec unshare -pf --mount-proc "$TOP/scripts/sim-run" --build "$BUILD" \
		"$programs/rt_trigger" "$folder/end" >"$folder/pid" 2>"$folder/err") &
	outer=$!
	for _ in $(seq 500); do
		grep -qx '[0-9]*' "$folder/pid" 2>/dev/null && break
		sleep 0.02
	done
	pid=$(xargs <"/proc/$outer/task/$outer/children")
	written=$("$report" snapshot "$pid")
	is 'in a container, where its number is another: a name that can be read from outside' "$written $(reasons)" \
		"/proc/$pid/root$folder/gpushim.1.1.json request"
	ok 'as can the file' test -r "$written"
	is 'live' "$("$report" live -n 1 "$pid" | grep -c 'held 2.0 MiB')" 1
	touch "$folder/end"
	wait
else
	skip 'a process in a container is asked from outside' 'no namespaces'
fi

rm -f "$folder"/gpushim.*
is 'no descriptors left for the page: the program does not notice' "$(cd "$folder" && ulimit -n 150 &&
	GPUSHIM_ALLOC_CONF=snapshot:signal "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_trigger" raise 20 2>&1 | sed 1d)" \
	'handled 0'
is 'and a signal still works' "$(reasons)" signal
done_testing
