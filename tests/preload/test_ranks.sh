#!/bin/bash
# timeout 300
# Ranks: what launchers of several processes set, in the names of snapshots and in them; nothing else of the environment.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

run() { # run VARIABLE=VALUE..: name and rank of the snapshot
	rm -f "$folder"/gpushim.*
	(cd "$folder" && exec env -u RANK "$@" GPUSHIM_ALLOC_CONF=snapshot:exit MY_SECRET=hunter2 \
		"$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_trigger" 5 >"$folder/out" 2>"$folder/err")
	file=$(ls "$folder"/gpushim.*)
	pid=$(grep -x '[0-9]*' "$folder/out")
	echo "$(basename "$file" | sed "s/$pid/PID/") $(python3 "$TOP/tests/preload/snapshot.py" get "$file" meta rank)"
}

is 'no launcher' "$(run)" 'gpushim.PID.json None'
is 'torchrun' "$(run RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 MASTER_ADDR=node1)" 'gpushim.PID.rank3.json 3'
is 'mpirun' "$(run OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=8)" 'gpushim.PID.rank5.json 5'
is 'srun' "$(run SLURM_PROCID=7 SLURM_LOCALID=3 SLURM_JOB_ID=99)" 'gpushim.PID.rank7.json 7'
is 'MPICH' "$(run PMI_RANK=2)" 'gpushim.PID.rank2.json 2'
is 'torchrun under srun: the inner one counts' "$(run RANK=3 SLURM_PROCID=0)" 'gpushim.PID.rank3.json 3'
is 'a rank that is none' "$(run RANK=../../x)" 'gpushim.PID.json None'
run RANK=12 >/dev/null
file=$(ls "$folder"/gpushim.*)
is 'mode' "$(stat -c %a "$file")" 600
is 'no value of the environment' "$(grep -c hunter2 "$file")" 0
like 'the device by its UUID' "$(python3 "$TOP/tests/preload/snapshot.py" get "$file" devices 0 uuid)" '^GPU-[0-9a-f]'
is 'process, parent and host' "$(python3 -c '
import json, os, sys
meta = json.load(open(sys.argv[1]))["meta"]
print(meta["pid"] > 1, meta["ppid"] > 0, meta["hostname"] == os.uname().nodename)' "$file")" 'True True True'
done_testing
