#!/bin/bash
# timeout 300
# How people start programs: shells in shells, ranks side by side, an empty environment, a setuid copy, another malloc in front
# of gpushim or behind it. The scripts are those that scripts/gpu-check starts on a real GPU.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

compat=$TOP/tests/gpu/compat copies=$BUILD/gpu/compat/copies
shim=$BUILD/libgpushim.so
export LD_LIBRARY_PATH=$BUILD/sim

started() { # started SHIM COMMAND..: what it prints, sorted, its status; snapshots stay in the folder
	rm -f "$folder"/gpushim.*
	(cd "$folder" && { LD_PRELOAD=$1 timeout 120 "${@:2}" 2>&1 </dev/null; echo "status $?"; } | grep -v '^gpushim: snapshot' | sort)
}

alike() { # alike NAME SNAPSHOTS COMMAND..: the same with gpushim and without; so many snapshots
	local name=$1 wanted=$2 plain
	shift 2
	plain=$(started '' "$@")
	case $plain in absent*) skip "$name" "${plain%%$'\n'*}" && return ;; esac
	is "$name" "$(started "$shim" "$@")" "$plain"
	is "$name: snapshots" "$(find "$folder" -name 'gpushim.*.json' | wc -l)" "$wanted"
}

alike 'shells' 5 bash "$compat/shells.sh" "$copies"
alike 'processes' 4 bash "$compat/processes.sh" "$copies" "$BUILD/gpu/compat/contexts"
alike 'srun' 2 bash "$compat/slurm.sh" "$copies"
is 'srun: ranks' "$(cd "$folder" && echo gpushim.*.json | sed 's/\.[0-9]*\././g')" 'gpushim.rank0.json gpushim.rank1.json'
alike 'mpirun' 2 bash "$compat/mpirun.sh" "$copies"
alike 'an empty environment' 0 env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" "$copies"
# shellcheck disable=SC2016 # for the shell inside
alike 'nothing but gpushim in the environment' 1 bash -c \
	'exec env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" ${LD_PRELOAD:+LD_PRELOAD="$LD_PRELOAD"} "$0"' "$copies"

for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	for program in "$programs/rt_demo" "$BUILD/gpu/compat/contexts"; do
		alike "${library%%.*} before and after: ${program##*/}" 2 bash "$compat/beside.sh" "$library" "$program"
	done
done
alike 'another CUDA preloader before and after' 2 bash "$compat/beside.sh" "$programs/lib_tool_malloc.so" "$copies"

cp "$(command -v grep)" "$folder/look"
cp "$(command -v id)" "$folder/id"
chmod 755 "$folder"
if [ "$(id -u)" = 0 ] && chown nobody "$folder"/{look,id} && chmod 4755 "$folder"/{look,id} && [ "$("$folder/id" -u)" != 0 ]; then
	look() { LD_PRELOAD=$shim "$1" -c 'libgpushim[.]so' /proc/self/maps; }
	like 'an ordinary program has gpushim' "$(look "$(command -v grep)")" '^[1-9]'
	is 'a setuid program does not' "$(look "$folder/look")" 0
	is 'it prints the same' "$(LD_PRELOAD=$shim "$folder/look" -c root /etc/passwd 2>&1)" "$(grep -c root /etc/passwd)"
else
	skip 'a setuid program' 'needs root, and a folder where such programs may be'
fi
done_testing
