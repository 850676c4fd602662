#!/bin/bash
# What README.md says under "Security" of the files that gpushim writes: who may read them, and what is not in them.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset GPUSHIM_ALLOC_CONF
demo=$BUILD/tests/preload/rt_pinned

# In a folder of its own with a telling name, under a umask that forbids nothing; links lie where the snapshot will, and where its part.
run() { # run NAME CONF
	mkdir -p "$folder/$1/secretive" && cd "$folder/$1/secretive" || exit
	echo untouched >../victim
	GPUSHIM_ALLOC_CONF=$2 SOME_TOKEN=hunter2hunter2 bash -c 'umask 000
		ln -s ../victim gpushim.$$.json && ln -s ../victim gpushim.$$.json.part
		exec "$@"' run "$TOP/scripts/sim-run" --build "$BUILD" "$demo" given-argument >/dev/null 2>&1
	snapshot=$(ls "$folder/$1"/secretive/gpushim.*.json)
	cd "$TOP" || exit
}

run plain ''
is 'a snapshot is for its owner alone, whatever the umask' "$(stat -c '%F %a' "$snapshot")" 'regular file 600'
is 'no link is followed' "$(cat "$folder/plain/victim"; ls "$folder"/plain/secretive)" "untouched
${snapshot##*/}"
is 'no variable of the environment is in it' "$(grep -c 'hunter2\|SOME_TOKEN' "$snapshot")" 0
is 'the command line is' "$(grep -c given-argument "$snapshot")" 1
is 'so is the folder' "$(grep -c '/secretive"' "$snapshot")" 1
"$BUILD/gpushim-report" export rows -o "$folder/rows" "$snapshot"
is 'what is made of it is for its owner alone' "$(stat -c %a "$folder/rows")" 600

for paths in relative hash; do
	run $paths paths:$paths
	is "paths:$paths hides what leads to a file" "$(grep -c "$folder" "$snapshot")" 0
done
done_testing
