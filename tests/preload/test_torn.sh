#!/bin/bash
# slow
# timeout 600
# Snapshots are whole or absent: the process is killed, or the system refuses, at every call that writes one; full disks,
# folders that are not there, and the other ways in which a process may end.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
program=$BUILD/tests/preload/rt_ends
plain=$'one allocation\n5'
export GPUSHIM_ALLOC_CONF=history:4000,stacks:off,snapshot_dir:$folder

run() { # run WAY..: $output is what it prints and its status; $said what it says on stderr
	output=$(timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" "$@" 2>"$folder.err"; echo $?)
	said=$(<"$folder.err")
}

found() { # found: what lies in the folder: "N whole, N torn, N parts"
	local path whole=0 torn=0 parts=0
	for path in "$folder"/gpushim.*; do
		case $path in
		*'*') ;;
		*.part) parts=$((parts + 1)) ;;
		*) if "$BUILD/gpushim-report" summary --json "$path" >/dev/null 2>&1; then whole=$((whole + 1)); else torn=$((torn + 1)); fi ;;
		esac
	done
	rm -rf "$folder"/gpushim.*
	echo "$whole whole, $torn torn, $parts parts"
}

# Every call that touches a file fails in turn, until there is none left. kill comes first: it counts them.
calls=0
each_call() { # each_call HOW WANTED_FOUND...: what may lie in the folder afterwards
	local how=$1 call=0 wrong='' wanted left
	shift
	while call=$((call + 1)); do
		rm -f "$folder/fired"
		output=$(FILE_CALL=$call FILE_HOW=$how FILE_FIRED=$folder/fired LD_PRELOAD=$BUILD/tests/preload/lib_file.so \
			timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" long 2>/dev/null; echo $?)
		left=$(found)
		if [ "$how" = kill ]; then
			[ "${output##*$'\n'}" = 137 ] || break
			[ "$output" = $'one allocation\n137' ] || [ "$output" = 137 ] || wrong+="call $call: $output; "
		else
			[ -e "$folder/fired" ] || [ $call -le "$calls" ] || break
			[ "$output" = "$plain" ] || wrong+="call $call: $output; "
		fi
		for wanted in "$@" ''; do
			[ "$left" = "$wanted" ] && break
		done
		[ -n "$wanted" ] || wrong+="call $call: $left; "
	done
	[ "$how" != kill ] || calls=$((call - 1))
	is "$how at each of $((call - 1)) calls: the program goes on, the snapshot is whole or absent" "$wrong" ''
	[ $call -gt 5 ] || ok "$how: calls were found" false
}

each_call kill '1 whole, 0 torn, 0 parts' '0 whole, 0 torn, 1 parts' '0 whole, 0 torn, 0 parts'
for how in 122 4 short; do # EDQUOT, EINTR
	each_call $how '1 whole, 0 torn, 0 parts' '0 whole, 0 torn, 0 parts'
done

run folder "$folder"
is 'a folder has the name of the snapshot: the program' "$output" "$plain"
like 'a folder has the name of the snapshot: one line' "$said" '^gpushim: no snapshot [^
]*: a folder has that name$'
is 'a folder has the name of the snapshot: nothing is left' "$(find "$folder" -type f | wc -l)" 0
rm -rf "$folder"/gpushim.*
export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/sub
mkdir "$folder/sub"
run gone "$folder/sub"
is 'the folder is removed meanwhile: the program' "$output" "$plain"
is 'the folder is removed meanwhile: it is made again' "$(find "$folder/sub" -name 'gpushim.*.json' | wc -l)" 1
for case in "none/none:no such folder" "file:not a folder"; do
	: >"$folder/file"
	export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/${case%:*}
	run plain
	is "${case#*:}: the program" "$output" "$plain"
	like "${case#*:}: one line" "$said" "^gpushim: no snapshot [^
]*: ${case#*:}\$"
done

# A folder in which nothing may be made. The superuser may, unless that is taken away.
rm -rf "${folder:?}/sub"
mkdir "$folder/sub"
chmod 555 "$folder/sub"
bound=()
[ -w "$folder/sub" ] && bound=(setpriv --inh-caps=-dac_override --bounding-set=-dac_override)
if ! "${bound[@]}" test -w "$folder/sub" 2>/dev/null; then
	export GPUSHIM_ALLOC_CONF=history:4000,snapshot:exit+kill,snapshot_dir:$folder/sub
	output=$("${bound[@]}" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" long 2>"$folder.err"; echo $?)
	is 'a folder that cannot be written to: the program' "$output" "$plain"
	like 'a folder that cannot be written to: a line each' "$(<"$folder.err")" '^gpushim: snapshot:kill has no effect: [^
]*
gpushim: no snapshot [^
]*: permission denied$'
	is 'a folder that cannot be written to: nothing is left' "$(find "$folder/sub" -type f | wc -l)" 0
else
	skip 'a folder that cannot be written to' 'this user may write everywhere'
fi
rm -rf "$folder/sub"

# A disk that is full and one that is read-only, where this user may mount one.
if unshare -rm true 2>/dev/null; then
	for disk in 'size=16k:no space left' 'ro:read-only file system'; do
		export GPUSHIM_ALLOC_CONF=history:4000,snapshot_dir:$folder
		output=$(unshare -rm sh -c 'mount -t tmpfs -o "$1" none "$2" || exit 99; shift 2; "$@"; echo $?; ls "$0"' \
			"$folder" "${disk%:*}" "$folder" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" long 2>"$folder.err")
		is "${disk#*:}: the program, nothing is left" "$output" "$plain"
		like "${disk#*:}: one line" "$(<"$folder.err")" "^gpushim: no snapshot [^
]*: ${disk#*:}\$"
	done
	export GPUSHIM_ALLOC_CONF=history:4000,snapshot:kill,snapshot_dir:$folder
	output=$(unshare -rm sh -c 'mount -t tmpfs -o size=16k none "$0" || exit 99; "$@"; echo $?; ls "$0"' \
		"$folder" timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" long 2>"$folder.err")
	is 'no room for the file of snapshot:kill: the program, nothing is left' "$output" "$plain"
	like 'no room for the file of snapshot:kill: one line' "$(<"$folder.err")" '^gpushim: snapshot:kill has no effect: no room for [^
]*$'
	export GPUSHIM_ALLOC_CONF=history:4000,snapshot_dir:$folder
	# shellcheck disable=SC2016
	output=$(unshare -rm sh -c 'mount -t tmpfs -o size=4k none /dev/shm && { head -c 9000 /dev/zero >/dev/shm/full 2>/dev/null
		"$@"; }; echo $?' sh timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$program" long 2>"$folder.err")
	is '/dev/shm is full: the program' "$output" "$plain"
	is '/dev/shm is full: its snapshot' "$(found)" '1 whole, 0 torn, 0 parts'
else
	skip 'a full and a read-only disk, a full /dev/shm' 'no mounts for this user'
fi

export GPUSHIM_ALLOC_CONF=history:4000,snapshot_dir:$folder
for way in 'quick:0' 'main-ends:1' 'vfork:1' 'early:2' 'at-once:0' 'abort:0' 'fork-exec:2'; do
	rm -rf "${folder:?}"/*
	want=$(timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$program" "${way%:*}" 2>/dev/null; echo $?)
	run "${way%:*}"
	is "${way%:*}: as without the shim" "$output" "$want"
	is "${way%:*}: snapshots" "$(found)" "${way#*:} whole, 0 torn, 0 parts"
done
rm -rf "$folder" "$folder.err"
done_testing
