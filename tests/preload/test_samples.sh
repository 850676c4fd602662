#!/bin/bash
# What launches take on the device, by samples with events.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

# Samples in all; the mean of each row that has some, in microseconds, the shortest first.
read -r -d '' samples <<'END_PYTHON'
import glob, json, sys
with open(glob.glob(sys.argv[1] + "/gpushim.*.json")[0]) as file:
    kernels = json.load(file)["kernels"]
rows = sorted((ns / n / 1000, n) for n, ns in zip(kernels["samples"], kernels["sampled_ns"]) if n)
print("some" if sum(n for _, n in rows) >= 10 else sum(n for _, n in rows), *["%.0f" % mean for mean, _ in rows])
END_PYTHON

sampled() { # sampled CONF HOW [SECONDS]: those of a run; the first come after a second
	GPUSHIM_ALLOC_CONF=$1 sim "$programs/rt_samples" "$2" "${3:-1.3}"
	[ "$status" = 0 ] || echo "status $status"
	python3 -c "$samples" "$folder"
}

like 'kernels of 100 and of 1000 us are told apart' "$(sampled device_time:5 own 2)" '^some (9[0-9]|1[01][0-9]) (9[5-9][0-9]|10[0-9][0-9])$'
like 'the default stream' "$(sampled device_time:5 default 2)" '^some (9[0-9]|1[01][0-9]) (9[5-9][0-9]|10[0-9][0-9])$'
like 'however they are launched' "$(sampled device_time:5 ways 2)" '^some( (9[0-9]|1[01][0-9])){3}$'
like 'some soon' "$(sampled device_time:5 own)" '^some '
like 'on both sides of a reset' "$(sampled device_time:5 reset 1.4)" '^some (9[0-9]|1[01][0-9]) (9[5-9][0-9]|10[0-9][0-9])$'
is 'not what may begin before the one ahead has ended' "$(sampled device_time:5 apart)" 0
is 'not the default stream where others wait for it' "$(sampled device_time:5 both)" 0
is 'nothing while a capture is open' "$(sampled device_time:5 capture)" 0
is 'none are asked for' "$(sampled device_time:0 own)" 0
is 'none where launches block' "$(CUDA_LAUNCH_BLOCKING=1 sampled device_time:5 own)" 0
is 'none under a profiler' "$(CUDA_INJECTION64_PATH=/nowhere sampled device_time:5 own)" 0
is 'none without the log' "$(sampled device_time:5,launches:0 own)" 0
done_testing
