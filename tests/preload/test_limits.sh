#!/bin/bash
# sanitizers asan ubsan
# What may be held, and what lives how long: limits of every size, memory of a destroyed context.
. "$TOP/tests/lib/tap.sh"

programs=$BUILD/tests/preload

held() { # held CONF: how many times 10 MiB of a device of 1 GiB
	GPUSHIM_ALLOC_CONF=snapshot:off,$1 "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_limit" 2>/dev/null
}

for backend in vmm cudamalloc; do
	is "$backend: no limit" "$(held backend:$backend)" 20
	is "$backend: a limit" "$(held backend:$backend,memory_limit:35M)" 3
	is "$backend: less than one allocation" "$(held backend:$backend,memory_limit:1K)" 0
	is "$backend: a share" "$(held backend:$backend,per_process_memory_fraction:0.05)" 5
	is "$backend: a share of nothing" "$(held backend:$backend,per_process_memory_fraction:0.0)" 0
	is "$backend: the smaller of both" "$(held backend:$backend,per_process_memory_fraction:0.05,memory_limit:25M)" 2
done

figure() { # figure NAME CONF: the peak of a figure of 20 times 10 MiB, in MiB
	local folder
	folder=$(mktemp -d)
	(cd "$folder" && GPUSHIM_ALLOC_CONF=snapshot:exit,$2 "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_limit") \
		>/dev/null 2>&1
	python3 "$TOP/tests/preload/snapshot.py" gauge "$folder"/gpushim.*.json "$1" | awk '{ print $2 / 1048576 }'
	rm -r "$folder"
}
is 'roundup_power2_divisions' "$(figure rounded_bytes roundup_power2_divisions:2)" 240
is 'none' "$(figure rounded_bytes log:warn)" 200
is 'large_segment_size_mb' "$(figure reserved_bytes large_segment_size_mb:128)" 256

export GPUSHIM_ALLOC_CONF=snapshot:off
plain=$("$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$programs/drv_outlive" 2>&1)
for backend in vmm cudamalloc off; do
	output=$(GPUSHIM_ALLOC_CONF=backend:$backend,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" "$programs/drv_outlive" 2>&1)
	is "stream-ordered memory outlives its context, backend:$backend" "$output" "$plain"
done
like 'its content too' "$plain" 'pooled holds 4711, free 0, again 1'
done_testing
