#!/bin/bash
# timeout 120
# Threads that make, use and destroy contexts beside each other: what dies with one of them is never given back, or handed
# out, as if it were another's. Which thread runs is a choice of the seed.
. "$TOP/tests/lib/tap.sh"

program=$BUILD/gpu/compat/contexts
wanted=$("$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$program" 2>&1)
like 'the program alone' "$wanted" '^ok 6 threads'

seeds() { # seeds CONF SEED..: those that differ
	local conf=$1 seed said
	shift
	for seed; do
		said=$(GPUSHIM_ALLOC_CONF=$conf,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" --threads baton --policy random \
			--seed "$seed" "$program" 2>&1)
		[ "$said" = "$wanted" ] || echo "$seed: $said"
	done
}

is 'backend:cudamalloc' "$(seeds backend:cudamalloc 7 8 11 12 13 26 27 30)" ''
is 'backend:vmm' "$(seeds backend:vmm 1 2)" ''
is 'submit:thread' "$(seeds backend:cudamalloc,submit:thread 1 2)" ''
done_testing
