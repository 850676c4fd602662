#!/bin/bash
# processes.sh PROGRAM..: each of the programs twice, all at the same time on one GPU.
. "${0%/*}/environment.sh"
children=() status=0
for program in "$@" "$@"; do
	"$program" &
	children+=($!)
done
for child in "${children[@]}"; do
	wait "$child" || status=$?
done
exit $status
