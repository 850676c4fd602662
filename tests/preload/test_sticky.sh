#!/bin/bash
# timeout 300
# An error that sticks to a context: what is said to have caused it, and what the snapshot holds.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"
report=$BUILD/gpushim-report

# run CONF WORD..: on a device that does its work as late as possible
run() {
	rm -f "$folder"/gpushim.*
	(cd "$folder" && GPUSHIM_ALLOC_CONF=$1 exec "$TOP/scripts/sim-run" --build "$BUILD" --policy late \
		"$programs/drv_sticky" "${@:2}" >"$folder/out" 2>"$folder/err")
	status=$?
	line=$(grep -a CUDA_ERROR "$folder/err")
}

candidates() { # kernel and launches of each, in the order of the report
	"$report" summary --json "$folder"/gpushim.*.error.json | python3 -c '
import json, sys
error = json.load(sys.stdin)["errors"][0]
print(error["name"], *("%s:%d/%d" % (c["kernel"], c["launches"], c["done_before"]) for c in error["candidates"]))'
}

run snapshot:error stream
is 'the program gets the error, everywhere' "$status $(xargs <"$folder/out")" '0 700 700 700'
is 'the snapshot has its name' "$(ls "$folder" | grep -c '^gpushim\.[0-9]*\.error\.json$')" 1
is 'one candidate' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
like 'is the cause' "$line" 'CUDA_ERROR_ILLEGAL_ADDRESS, noticed by cuStreamSynchronize at .*; the cause is sim_fail at drv_sticky'
is 'one line about it' "$(wc -l <<<"$line")" 1
like 'and where to read more' "$(cat "$folder/err")" 'gpushim-report summary .*\.error\.json'
like 'the summary says so' "$("$report" summary "$folder"/gpushim.*.error.json)" 'that is the cause'

for how in query event context copy wait query-ptsz event-ptsz event-flags event-flags-ptsz wait-ptsz; do
	run snapshot:error "$how"
	is "innocent work is cleared by: $how" "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
done
run snapshot:error
is 'nothing cleared: all of it' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:2/0 sim_delay:6/0'
like 'and that is what is said' "$line" 'any of 8 launches.*CUDA_LAUNCH_BLOCKING=1'
for gone in gone gone-v2; do
	run snapshot:error $gone
	is "an event that went shows nothing by its handle: $gone" "$(xargs <"$folder/out") $(candidates)" \
		'700 700 700 CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:2/0 sim_delay:6/0'
done
for way in cuLaunchKernel{,_ptsz} cuLaunchKernelEx{,_ptsz} cuLaunchCooperativeKernel{,_ptsz} \
	cuLaunchCooperativeKernelMultiDevice cuLaunch cuLaunchGrid cuLaunchGridAsync; do
	run snapshot:error stream by=$way
	is "the failing kernel is known by: $way" "$(xargs <"$folder/out") $(candidates)" \
		'700 700 700 CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
done
run snapshot:error stream many=5
is 'what never ran well comes first' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1 sim_delay:5/6'
run snapshot:error reuse
is 'a new stream with an old handle clears nothing of the old one' "$(candidates)" \
	'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:2/0 sim_delay:6/0'
for code in unload library ended; do
	run snapshot:error stream $code
	is "names are right after code was loaded again: $code" "$(xargs <"$folder/out") $(candidates)" \
		'700 700 700 CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
done
run snapshot:error stream capture
is 'what was captured did not run' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
run snapshot:error stream graph
is 'a graph is one candidate' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS cuGraphLaunch:1/0'
run snapshot:error stream graph-ptsz
is 'launched for the stream of a thread, too' "$(candidates)" 'CUDA_ERROR_ILLEGAL_ADDRESS cuGraphLaunch_ptsz:1/0'
for code in 214:ECC_UNCORRECTABLE 220:NVLINK_UNCORRECTABLE 702:LAUNCH_TIMEOUT 710:ASSERT 714:HARDWARE_STACK_ERROR \
	715:ILLEGAL_INSTRUCTION 716:MISALIGNED_ADDRESS 717:INVALID_ADDRESS_SPACE 718:INVALID_PC 719:LAUNCH_FAILED; do
	run snapshot:error stream "code=${code%:*}"
	is "CUDA_ERROR_${code#*:}" "$(xargs <"$folder/out") $(candidates)" \
		"${code%:*} ${code%:*} ${code%:*} CUDA_ERROR_${code#*:} sim_fail:1/1"
done
CUDA_LAUNCH_BLOCKING=1 run snapshot:error many=3
is 'launches that block: the one that fails, whatever came before' "$(candidates)" \
	'CUDA_ERROR_ILLEGAL_ADDRESS sim_fail:1/1'
run snapshot:error,launches:4 many=20
like 'a log that is too short says so' "$line" 'launches since the last wait'
like 'in the report too' "$("$report" summary "$folder"/gpushim.*.error.json)" 'launches before them are no longer in the log'
for setting in launches:0 watch:off; do
	run "snapshot:error,$setting" stream
	is "$setting, no log: only the error" "$(grep -c 'noticed by' <<<"$line")$(grep -c 'cause\|blame' <<<"$line")" 10
done
run snapshot:error,stacks:off stream
like 'no stacks: the kernel alone' "$line" 'the cause is sim_fail at an unknown place'
run snapshot:off stream
is 'no snapshot wanted: one line, no file' "$(wc -l <<<"$line")$(ls "$folder" | grep -c '^gpushim')" 10
run snapshot:exit stream
is 'the one at exit has it too' "$("$report" summary --json "$folder"/gpushim.*.json | grep -c '"kernel":"sim_fail"')" 1
for where in none here apart; do
	for setting in '' ,free_sync:never ,free_sync:always ,backend:cudamalloc ,submit:thread ,lanes:on; do
		GPUSHIM_ALLOC_CONF=snapshot:off$setting same "every free tells the error, a capture is open: $where$setting" \
			"$programs/drv_sticky_frees" $where
	done
done
done_testing
