#!/bin/bash
# Steps of programs: found by the order of launches, or marked by gpushim_step().
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

# Loops that are no part of others, but for short ones, which now and then are not known for the inner loops that they are:
# kind, steps, most frequent number of launches and of waits among the newest.
read -r -d '' loops <<'END_PYTHON'
import collections, glob, json, sys
with open(glob.glob(sys.argv[1] + "/gpushim.*.json")[0]) as file:
    snapshot = json.load(file)
loops, steps = snapshot["loops"], snapshot["steps"]
for row in range(len(loops["steps"])):
    kind = loops["kind_names"][loops["kind"][row]]
    if kind == "inner" or loops["steps"][row] < 20:
        continue
    mine = [i for i in range(len(steps["loop"])) if steps["loop"][i] == row]
    launches = collections.Counter(steps["launches"][i] for i in mine)
    waits = collections.Counter(steps["waits"][i] for i in mine)
    print(kind, loops["steps"][row], launches.most_common(1)[0][0], waits.most_common(1)[0][0])
END_PYTHON

found() { # found PROGRAM: the loops of it, in one line
	sim "$programs/rt_steps" "$1"
	[ "$status" = 0 ] || echo "status $status"
	python3 -c "$loops" "$folder" | paste -sd,
}

got=$(found train)
like 'training and testing are two loops' "$got" '^found (19[0-9]) 12 0,found (8[5-9]|9[0-9]) 4 0$'
like 'layers are no steps' "$(found layers)" '^found 9[5-9] 133 1$'
like 'decoding: tokens, with more and more kernels' "$(found decode)" '^found (19[0-9]) [0-9]+ 1$'
like 'where the program says so' "$(found marked)" '^marked 100 60 0$'
like 'backward in another thread belongs to the step' "$(found threads)" '^found [89][0-9] 20 0$'

like 'a loop with an odd step' "$(found odd)" '^found 9[6-9] 12 1$'
is 'what it did' "$(python3 -c '
import glob, json, sys
with open(glob.glob(sys.argv[1] + "/gpushim.*.json")[0]) as file:
    steps = json.load(file)["steps"]
odd = max(range(len(steps["loop"])), key=lambda i: steps["launches"][i])
print(steps["launches"][odd], steps["waits"][odd], steps["to_device_bytes"][odd] - 256,
      steps["to_host_bytes"][odd])' "$folder")" '20 5 16384 8192'

GPUSHIM_ALLOC_CONF=launches:0 sim "$programs/rt_steps" train
is 'no log, no steps' "$status:$(python3 -c "$loops" "$folder" | wc -l)" 0:0
done_testing
