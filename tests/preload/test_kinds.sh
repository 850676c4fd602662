#!/bin/bash
# sanitizers asan ubsan
# Every function that makes memory, and the one that frees it: the shim serves it or notes it, in the class that it
# should, and forgets it. Every function that copies: what it copies is noted.
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
	`'driver 1536, handle 4194304, host 1008, host 1009, managed 1003, registered 12288, registered 8192'
is 'the device is called what it is' "$(snapshot get devices 0 name)" 'Simulated GPU'
same 'each call answers as without, frees too' "$programs/drv_kinds" free
is 'each free is noted' "$(kinds)" ''
GPUSHIM_ALLOC_CONF=backend:off same 'backend:off' "$programs/drv_kinds"
is 'backend:off: all of it is noted' "$(kinds)" 'driver 1001, driver 1004, driver 1005, driver 1006, driver 1007, '`
	`'driver 1536, handle 4194304, host 1008, host 1009, managed 1003, registered 12288, registered 8192'
GPUSHIM_ALLOC_CONF=backend:off same 'backend:off, frees too' "$programs/drv_kinds" free
is 'backend:off: each free is noted' "$(kinds)" ''

copies() { # copies: how many functions were called; and those of which not this one copy was noted
	python3 - "$folder/out" "$folder"/gpushim.*.json <<'END'
import json, re, sys
with open(sys.argv[1]) as file:
    called = [line.split() for line in file]
with open(sys.argv[2]) as file:
    snapshot = json.load(file)
waits, noted = snapshot["waits"], {}
keys = ("function", "way", "memory", "calls", "size_bytes")
for function, way, memory, calls, size in zip(*[waits[key] for key in keys]):
    if size:
        noted.setdefault(snapshot["strings"][function], []).append(
            (waits["way_names"][way], waits["memory_names"][memory], calls, size))
WAYS = [(r"Peer|[DA]to[DA]", "on_device", "none", 1), (r"Hto[DA]", "to_device", "pinned", 1),
        (r"[DA]toH", "to_host", "pinned", 1), (r"2D", "to_device", "pinned", 3), (r"3D", "to_host", "pinned", 6),
        (r"cuMemcpy(Async)?(_|$)", "to_host", "pinned", 1)]
print(len(called), "functions")
for name, size in called:
    way, memory = next(row[1:3] for row in WAYS if re.search(row[0], name))
    times = 6 if "3DPeer" in name else next(row[3] for row in WAYS if re.search(row[0], name))
    if noted.get(name) != [(way, memory, 1, int(size) * times)]:
        print(name, size, noted.get(name))
END
}

sim "$programs/drv_copies"
is 'every copy is noted: way, memory, size' "$status:$(copies)" '0:48 functions'
done_testing
