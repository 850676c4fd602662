#!/bin/bash
# sanitizers asan ubsan
# Every function that makes memory, and the one that frees it: the shim serves it or notes it, in the class that it
# should, and forgets it.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

kinds() { # kinds: "CLASS BYTES" of all that is live
	python3 - "$folder"/gpushim.*.json <<'END'
import json, sys
with open(sys.argv[1]) as file:
    snapshot = json.load(file)
blocks, live = snapshot["blocks"], snapshot["live"]
names = blocks["state_names"]
rows = ["block %d" % size for size, state in zip(blocks["size_bytes"], blocks["state"]) if names[state] == "live"]
rows += ["%s %d" % (live["class_names"][which], size) for size, which in zip(live["size_bytes"], live["class"])]
print(*sorted(rows), sep=", ")
END
}

same 'each call answers as without' "$programs/drv_kinds"
is 'each allocation is served or noted' "$(kinds)" 'block 1001, block 1004, block 1005, block 1006, block 1007, '`
	`'driver 1536, handle 4194304, host 1008, host 1009, managed 1003'
is 'the device is called what it is' "$(snapshot get devices 0 name)" 'Simulated GPU'
same 'each call answers as without, frees too' "$programs/drv_kinds" free
is 'each free is noted' "$(kinds)" ''
GPUSHIM_ALLOC_CONF=backend:off same 'backend:off' "$programs/drv_kinds"
is 'backend:off: all of it is noted' "$(kinds)" 'driver 1001, driver 1004, driver 1005, driver 1006, driver 1007, '`
	`'driver 1536, handle 4194304, host 1008, host 1009, managed 1003'
done_testing
