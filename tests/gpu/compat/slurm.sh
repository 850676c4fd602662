#!/bin/bash
# slurm.sh PROGRAM: two ranks as srun starts them, by their variables; each snapshot has its rank in its name.
. "${0%/*}/environment.sh"
export SLURM_JOB_ID=4711 SLURM_NTASKS=2 SLURM_NNODES=1 SLURM_JOB_NUM_NODES=1 SLURM_STEP_ID=0 SLURMD_NODENAME=node1
SLURM_PROCID=0 SLURM_LOCALID=0 "$1" &
first=$!
SLURM_PROCID=1 SLURM_LOCALID=1 "$1" || exit
wait $first || exit
[ -z "${LD_PRELOAD-}" ] || ls gpushim.*.rank0.json gpushim.*.rank1.json >/dev/null || exit 3
