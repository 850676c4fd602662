#!/bin/bash
# timeout 300
# A process that is not as one would like it: what it does is what it does without the shim.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

# A signal handler that ends the program finds the thread anywhere, also with locks held.
for conf in graph:off graph:auto; do
	export GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/${conf#*:},$conf
	is "$conf: a signal handler ends the program, 30 times" "$(for us in $(seq 3000 700 23300); do
		timeout 10 "$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_ends" handler "$us" 2>/dev/null
		echo $?
	done | sort | uniq -c | xargs)" '30 3'
	ok 'half of them at least with a snapshot' test "$(find "$folder/${conf#*:}" -name '*.json' | wc -l)" -ge 15
done

program=$programs/rt_surroundings
for conf in graph:off graph:auto,stacks:all,hazards:on; do
	export GPUSHIM_ALLOC_CONF=snapshot:exit,$conf
	same "$conf: the program has all keys of thread-specific data" "$program" keys
	like 'it lost none of them' "$output" '^0 wrong, 0 wrong, 0 keys of [0-9]+ lost$'
	same "$conf: a thread with as little stack as there may be" "$program" stack 16384
	same "$conf: a handler ends the program on a small stack of its own" "$program" alternate
	is 'there is a snapshot all the same' "$status, $(find "$folder" -maxdepth 1 -name 'gpushim.*.json' | wc -l)" '3, 1'
	same "$conf: by default threads have as little" prlimit --stack=32768 "$program" work
done

# A program that closed stderr gets its number for something else; one that was started without it likewise.
export GPUSHIM_ALLOC_CONF=snapshot:off
same 'a pipe of the program has the number of stderr' "$program" private-pipe
like 'nothing is printed into it' "$output" 'nothing in the pipe'
sim "$program" any-pipe
like 'into one that was put there on purpose a line is' "$(<"$folder/out")" 'something in the pipe'
# shellcheck disable=SC2016 # for the shell inside
sim bash -c 'exec "$0" any-pipe 2>&-' "$program"
like 'but not where there was no stderr' "$(<"$folder/out")" 'nothing in the pipe'

if [ "$(id -u)" = 0 ]; then
	mkdir "$folder/root"
	export GPUSHIM_ALLOC_CONF=snapshot:exit
	LD_PRELOAD=$BUILD/sim/libcuda.so.1 same 'the folder lies outside of the root' "$program" outside "$folder/root"
	is 'the snapshot lies in it' "$(find "$folder" -maxdepth 1 -name 'gpushim.*.json' | wc -l)" 1
else
	skip 'a folder outside of the root' 'needs root'
fi

# Libraries whose only table of symbols is that of System V.
mkdir "$folder/old"
for library in libcuda.so.1 libcudart.so.13; do
	python3 - "$BUILD/sim/$library" "$folder/old/$library" <<'END'
# Writes it where the other table lies: one bucket, in which each symbol follows the one before.
import struct, sys
DYNSYM, DYNAMIC, NULL, HASH, GNU_HASH = 11, 2, 0, 4, 0x6ffffef5
image = bytearray(open(sys.argv[1], "rb").read())

def word(form, at):
    return struct.unpack_from(form, image, at)[0]

section = word("<Q", 40)
while word("<I", section + 4) != DYNSYM:
    section += 64
count = word("<Q", section + 32) // 24
segment = word("<Q", 32)
while word("<I", segment) != DYNAMIC:
    segment += 56
entry = word("<Q", segment + 8)
while word("<Q", entry) != GNU_HASH:
    entry += 16
table = [1, count, 1, 0, *range(2, count), 0]
struct.pack_into("<Q", image, entry, HASH)
struct.pack_into(f"<{len(table)}I", image, word("<Q", entry + 8), *table)
open(sys.argv[2], "wb").write(image)
END
done
for conf in graph:off graph:auto; do
	# First in the path, before those of the simulated GPU.
	GPUSHIM_ALLOC_CONF=snapshot:exit,$conf same "$conf: libraries with the old table of symbols" \
		env LD_LIBRARY_PATH="$folder/old" "$program" work
	like 'it did its work' "$output" '^0 wrong$'
	is 'and was seen' "$(find "$folder" -maxdepth 1 -name 'gpushim.*.json' | wc -l)" 1
done
done_testing
