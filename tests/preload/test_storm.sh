#!/bin/bash
# slow
# timeout 240
# Forks, exits and kills while threads use CUDA: nothing hangs, children are silent, files are whole or not there.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
cd "$folder" || exit 1
storm=$BUILD/tests/preload/rt_storm
sim() { timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$@"; }

whole() { # whole: how many snapshots there are, and whether each can be read
	python3 - "$folder" <<-'END'
		import glob, json, sys
		files = glob.glob(sys.argv[1] + '/*')
		for file in files:
		    json.load(open(file))["schema"]
		print(len(files))
	END
}

errors=$(sim "$storm" fork 2>&1 >out.txt)
status=$?
output=$(cat out.txt)
rm out.txt
is 'fork storm: the status' $status 0
is 'fork storm: children and results are well' "$output" 'running
40 of 40 children are well
0 errors'
is 'fork storm: one line, of the parent' "$(grep -c . <<<"$errors"), $(grep -c 'snapshot written' <<<"$errors")" '1, 1'
is 'fork storm: one file, whole' "$(whole)" 1
rm -f gpushim.*

for policy in random late; do
	is "fences, captures and contexts of eight threads, $policy" \
		"$(GPUSHIM_ALLOC_CONF=snapshot:off sim --policy $policy "$BUILD/tests/preload/drv_races")" 'all went well'
done

for settings in '' lanes:on submit:thread graph:auto,graph_chunk:8,submit_deadline_us:0 snapshot:exit+kill,status:1,purge_ms:1 \
	backend:cudamalloc,free_sync:always hazards:on; do
	export GPUSHIM_ALLOC_CONF=$settings
	for round in 1 2 3; do
		output=$(sim "$storm" exit 2>/dev/null)
		is "exit under load, ${settings:-as it is}, round $round: the status" "$?:$output" 6:running
		is "exit under load, ${settings:-as it is}, round $round: one file, whole" "$(whole)" 1
		rm -f gpushim.*
	done
	unset GPUSHIM_ALLOC_CONF
done
output=$(sim "$storm" quit 2>&1)
is '_exit under load: the status, silence' "$?:$output" 6:running
is '_exit under load: what is left is whole' "$(whole)" 0
output=$(sim "$storm" kill 2>&1)
is 'SIGKILL under load: the status, silence' "$?:$output" 137:running
is 'SIGKILL under load: what is left is whole' "$(whole)" 0
output=$(ulimit -c 0; sim "$storm" abort 2>&1)
is 'SIGABRT under load: the status, silence' "$?:$output" 134:running
is 'SIGABRT under load: what is left is whole' "$(whole)" 0

python='
import ctypes, os, sys
cuda = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(4096)) == 0
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "quit":
    os._exit(3)
child = os.fork()
if child == 0:
    sys.exit(4)
assert os.waitpid(child, 0)[1] == 4 << 8
os._exit(3)'
output=$(sim python3 -c "$python" exit 2>&1)
is 'Python, sys.exit: the status' $? 3
like 'Python, sys.exit: one line' "$output" '^[^
]*snapshot written[^
]*$'
is 'Python, sys.exit: one file, whole' "$(whole)" 1
rm -f gpushim.*
for how in quit fork; do
	output=$(sim python3 -c "$python" $how 2>&1)
	is "Python, os._exit ($how): the status, silence" "$?:$output" 3:
	is "Python, os._exit ($how): no file" "$(whole)" 0
done
cd /
rm -rf "$folder"
done_testing
