#!/bin/bash
# The simulated driver: every rule of tests/conformance without the shim, and what scripts/sim-run and SIM_* promise.
# sanitizers
. "$TOP/tests/lib/tap.sh"

rules=$BUILD/tests/conformance
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sim() {
	timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$@"
}

# The first comment of a rule's source is its name.
rule_name() {
	sed -n '1,/\*\//p' "$TOP/tests/conformance/$1.c" | tr -s '\n ' ' ' | sed 's|/\* Rule||; s|\*/.*||; s| \* | |g; s|^[: ]*||; s| *$||'
}

for source in "$TOP"/tests/conformance/*.c; do
	rule=$(basename "$source" .c)
	name="$rule: $(rule_name "$rule")"
	if [ "$rule" = drv_green ]; then
		skip "$name" 'the simulated driver has no green contexts'
	else
		ok "$name" sim --devices 2 "$rules/$rule"
	fi
done

# Order rules hold whatever the schedule; what looks at the pending state of `late` is left out.
for policy in in-order random starve priority; do
	for rule in drv_copy drv_copy_staged drv_host_function drv_free_waits drv_default_stream_reuse drv_blocking_stream_free drv_launch drv_vmm rt_launch rt_pool; do
		for seed in 1 2 3; do
			ok "$rule under $policy, seed $seed" sim --policy $policy --seed $seed "$rules/$rule"
		done
	done
done

# Settings.
export SIM_DRIVER_VERSION=12040
output=$(sim "$rules/drv_proc_address" 2>&1)
like 'an older driver has no newer functions' "$output" '\(cuCtxSynchronize, 13000, 0\): result 0'
unset SIM_DRIVER_VERSION
ok 'memory has the size that was asked for' sim --memory 256M "$rules/drv_out_of_memory"
output=$(sim --memory 16M "$rules/drv_memory" 2>&1)
like 'and no more' "$output" 'cuMemAlloc\(&pointer, BYTES\) gives 2'
output=$(SIM_MEMORY=lots sim "$rules/drv_memory" 2>&1)
is 'a size that is none is refused' "$?:$output" '2:gpushim-sim: SIM_MEMORY=lots: wanted a size such as 512M'
output=$(sim --policy sometimes true 2>&1)
is 'a policy that is none is refused' "$?:$output" \
	"2:sim-run: no policy 'sometimes'; there are late, in-order, random, starve, priority"
output=$(sim --devices 0 "$rules/drv_memory" 2>&1)
like 'no devices: NO_DEVICE' "$output" 'cuInit\(0\) gives 100'
output=$(sim 2>&1)
is 'no command' "$?:$output" '2:sim-run: no command; see --help'
ok '--help' sim --help

# Faults and counts.
output=$(SIM_FAULT=cuMemAlloc_v2:1:2 SIM_FAULT_REPORT=$folder/faults sim "$rules/drv_free_waits" 2>&1)
like 'a fault from the environment' "$output" 'cuMemAlloc\(&a, 64\) gives 2'
is 'is reported when it fired' "$(cat "$folder/faults")" 'cuMemAlloc_v2 1'
SIM_CALLS=$folder/calls sim "$rules/drv_free_waits"
like 'calls are counted' "$(cat "$folder/calls")" 'cuMemFree_v2 3'
is 'and only those that were made' "$(grep -c '^cuMemAllocAsync ' "$folder/calls")" 0
SIM_LOG_PROC_ADDRESS=$folder/asked sim "$rules/rt_start"
like 'the runtime asks by name, version and flags' "$(cat "$folder/asked")" 'cuLaunchKernel 7000 2'
errors=$(sim "$rules/drv_export_table" 2>&1 | grep -c '^gpushim-sim: this program carries a static CUDA runtime')
is 'a static runtime gets one line' "$errors" 1
for major in 12 13; do
	is "libcudart.so.$major has its version node" \
		"$(readelf -W --dyn-syms "$BUILD/sim/libcudart.so.$major" | grep -c " cudaMalloc@@libcudart.so.$major\$")" 1
done
is 'every function of the driver is exported' \
	"$(readelf -W --dyn-syms "$BUILD/sim/libcuda.so.1" | grep -c ' cu[A-Z][A-Za-z0-9_]*$')" \
	"$(grep -c '^SIM_FN' "$TOP/tests/sim/cuda/driver_names.def")"

# The shim's table and ours say the same about every function that both know: symbol, name, first version, twin.
cat >"$folder/rows.c" <<'END'
#define CUDA_VERSION 13000
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class) @symbol name since suffix@
#include "shim/api/driver.def"
END
cpp -P -I"$TOP" "$folder/rows.c" | tr '@' '\n' | awk 'NF >= 3 { print $1, $2, $3, (NF > 3) }' | sort >"$folder/shim"
sed -n 's/^SIM_[A-Z]*(\([^,]*\), "\([^"]*\)", \([0-9]*\), \([01]\))/\1 \2 \3 \4/p' \
	"$TOP/tests/sim/cuda/driver_names.def" | sort >"$folder/sim"
is 'no row of driver.def differs' "$(comm -23 "$folder/shim" "$folder/sim")" ''
ok 'and there are rows' test "$(wc -l <"$folder/shim")" -gt 300
done_testing
