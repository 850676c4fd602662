#!/bin/bash
# Snapshots of a real process on the simulated GPU: their names, their schema, and a folder that cannot be written.
. "$TOP/tests/lib/tap.sh"

demo=$BUILD/tests/preload/rt_demo
folder=$(mktemp -d)

names() { # names FOLDER: the files in it, with the process number as PID
	find "$1" -type f -printf '%f\n' | sed 's/^gpushim\.[0-9]*/gpushim.PID/' | sort | paste -sd ' '
}

check='
import json, sys
sys.path.insert(0, "tests/report")
from json_schema import check
schema = json.load(open("report/schema.json"))
print(check(json.load(open(sys.argv[1], encoding="utf-8")), schema, schema))'

# Relative folders count from where the program started; no rank, no suffix.
mkdir "$folder/plain" "$folder/plain/sub"
(cd "$folder/plain" && GPUSHIM_ALLOC_CONF=snapshot_dir:sub "$TOP/scripts/sim-run" --build "$BUILD" "$demo" >/dev/null 2>&1)
is 'a snapshot at exit has no suffix' "$(names "$folder/plain/sub")" 'gpushim.PID.json'
is 'it is for its owner alone' "$(find "$folder/plain/sub" -name '*.json' -printf %m)" 600
is 'a real snapshot fits schema.json' "$(python3 -c "$check" "$folder"/plain/sub/*.json)" None
like 'it names its setting' "$("$BUILD/gpushim-report" summary "$folder"/plain/sub/*.json)" 'settings: snapshot_dir:sub'
like 'its places are functions of the program' "$("$BUILD/gpushim-report" top "$folder"/plain/sub/*.json)" \
	'load_weights\+0x[0-9a-f]+ in rt_demo'

mkdir "$folder/rank"
RANK=3 GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/rank "$TOP/scripts/sim-run" --build "$BUILD" "$demo" >/dev/null 2>&1
is 'a rank is part of the name' "$(names "$folder/rank")" 'gpushim.PID.rank3.json'

GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/made "$TOP/scripts/sim-run" --build "$BUILD" "$demo" >/dev/null 2>&1
is 'a missing folder is made' "$(names "$folder/made")" 'gpushim.PID.json'
output=$(GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/none/none "$TOP/scripts/sim-run" --build "$BUILD" "$demo" 2>&1)
status=$?
is 'two missing folders are one line, and the program goes on' \
	"$status $(sed "s|gpushim\.[0-9]*\.json|FILE|" <<<"$output" | sort | paste -sd '|')" \
	"0 demo: results are right|gpushim: no snapshot $folder/none/none/FILE: no such folder"

for paths in relative hash; do
	mkdir "$folder/$paths"
	(cd "$folder/$paths" && GPUSHIM_ALLOC_CONF=paths:$paths,snapshot_dir:$folder/$paths "$TOP/scripts/sim-run" --build "$BUILD" \
		"$demo" >/dev/null 2>&1)
	is "paths:$paths names no folder of this machine" \
		"$(grep -cE "\"$folder|\"$TOP|\"$BUILD|\"/[a-z]" "$folder/$paths"/*.json)" 0
	ok "paths:$paths: the report reads it" "$BUILD/gpushim-report" summary "$folder/$paths"/*.json
done

mkdir "$folder/off"
GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/off,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" "$demo" >/dev/null 2>&1
is 'snapshot:off writes none' "$(names "$folder/off")" ''
rm -rf "$folder"
done_testing
