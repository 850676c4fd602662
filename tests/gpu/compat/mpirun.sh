#!/bin/bash
# mpirun.sh PROGRAM: two ranks on this machine; the launcher hands the variables on.
. "${0%/*}/environment.sh"
need_command mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$found" -n 2 "$1" || exit
[ -z "${LD_PRELOAD-}" ] || ls gpushim.*.rank0.json gpushim.*.rank1.json >/dev/null || exit 3
