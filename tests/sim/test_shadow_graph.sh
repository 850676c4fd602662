#!/bin/bash
# Shadow ownership around graphs: planted misuse is seen, and what only looks like it is not.
. "$TOP/tests/lib/tap.sh"

shadow() { # shadow OPTION.. WHAT: what rt_shadow_graph says; $status
	output=$(GPUSHIM_ALLOC_CONF=snapshot:off timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "${@:1:$#-1}" \
		"$BUILD/tests/preload/rt_shadow_graph" "${!#}" 2>&1)
	status=$?
}

seen() { # seen WHAT HOW: that misuse is reported like this, with the call that queued it
	like "$1 is seen ${shim:-with the shim}" "$status:$output" "^86:gpushim-sim: shadow: $2"
}

for shim in '' --no-shim; do
	for what in ordered buffer-ordered; do
		for policy in late random in-order; do
			# shellcheck disable=SC2086
			shadow $shim --policy $policy $what
			is "$what is in order, $policy ${shim:-with the shim}" "$status:$output" '0:0 errors'
		done
	done
	# shellcheck disable=SC2086
	{
		shadow $shim unordered
		seen unordered 'kernel 4 of stream [0-9]+ touches .* owner 2, still queued as owner 3 gets it for stream [0-9]+ '
		like 'with the launch that takes it' "$output" 'it is handed out again, at call [0-9]+ \(cuGraphLaunch\)'
		shadow $shim use-after-free
		seen use-after-free 'kernel [0-9]+ of stream [0-9]+ touches .* owner 2, freed before this was queued'
		shadow $shim buffer
		seen buffer 'memset 1 of stream [0-9]+ touches .* owner 1, still queued as owner 3 gets it for stream '
		like 'with the launch that queued it' "$output" 'it was queued, at call [0-9]+ \(cuGraphLaunch\)'
		shadow $shim buffer-freed
		seen buffer-freed 'memset [0-9]+ of stream [0-9]+ touches .* owner 1, freed before this was queued'
	}
done
done_testing
