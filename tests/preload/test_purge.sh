#!/bin/bash
# timeout 120
# Memory that nobody wants goes back to the driver: with age (purge_ms), and where memory is low.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

held() { # held CONF ARGUMENT..: what is held in the end; pinned allocations that the driver took back
	local conf=$1
	shift
	rm -f "$folder/calls"
	SIM_CALLS=$folder/calls GPUSHIM_ALLOC_CONF=$conf sim "$programs/rt_purge" "$@"
	echo "$(cat "$folder/out"), $(sed -n 's/^cuMemFreeHost //p' "$folder/calls")"
}
is 'after purge_ms it is given back' "$(held purge_ms:200 64 8 20000)" '0 MiB held, 1'
is 'also with watch:off' "$(held purge_ms:200,watch:off,stacks:off,history:0 64 8 20000)" '0 MiB held, 1'
is 'also where all calls are answered before the runtime' "$(held purge_ms:200 64 8 20000 door)" '2 MiB held, 1'
is 'not before' "$(held purge_ms:100000 64 8 500)" '64 MiB held, '
is 'nor with purge_ms:0' "$(held purge_ms:0 64 8 500)" '64 MiB held, '
is 'where the device is low it is given back at once' "$(held purge_ms:0 980 8 30000)" '0 MiB held, '

is 'also in a context of its own' "$(held purge_ms:0 980 8 30000 first)" '0 MiB held, '
is 'and while another context is current, which stays so' "$(held purge_ms:0 980 8 30000 then)" '0 MiB held, '

# A second process on the same device gets what the first does not want any more.
SIM_SHARED=$folder/shared GPUSHIM_ALLOC_CONF=purge_ms:300,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" \
	"$programs/rt_purge" 600 8 30000 >"$folder/first" &
first=$!
is 'a second process gets it' "$(SIM_SHARED=$folder/shared timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" --no-shim \
	"$programs/rt_want" 700 30000)" 'refused, then served'
wait $first
is 'and the first has given it back' "$(cat "$folder/first")" '0 MiB held'

# The same where the first would keep it, but the second is under gpushim, too: it asks for it, again if there is no answer
# for a while.
SIM_SHARED=$folder/shared2 GPUSHIM_ALLOC_CONF=purge_ms:0,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" \
	"$programs/rt_purge" 600 8 30000 >"$folder/first" &
first=$!
sleep 1
like 'a second process that needs it gets it by asking' \
	"$(SIM_SHARED=$folder/shared2 GPUSHIM_ALLOC_CONF=snapshot:off timeout 60 \
	"$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_want" 700 4000)" '^(never refused|refused, then served)$'
wait $first
is 'and the first has given it back' "$(cat "$folder/first")" '0 MiB held'

# One that uses another device is not asked.
SIM_SHARED=$folder/shared3 GPUSHIM_ALLOC_CONF=purge_ms:0,snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" \
	"$programs/rt_purge" 600 8 5000 >"$folder/first" &
first=$!
sleep 1
like 'a device that is full is no business of a process on another one' \
	"$(SIM_SHARED=$folder/shared4 GPUSHIM_ALLOC_CONF=snapshot:off "$TOP/scripts/sim-run" --build "$BUILD" --memory 256M \
	"$programs/rt_oom" 2>/dev/null)" 'last error 2'
wait $first
is 'which keeps what it has' "$(cat "$folder/first")" '600 MiB held'

# What only looks like the memory file of a process under gpushim is left alone; the word behind its pid is what is asked for.
read -r -d '' forge <<'END_PYTHON'
import glob, os, struct, subprocess, sys
name = next(name for name in glob.glob("/proc/%s/fd/*" % sys.argv[1]) if os.readlink(name).startswith("/memfd:gpushim-live"))
with open(name, "rb") as file:
    page = bytearray(file.read())
def show(changed):
    struct.pack_into("<II", page, 8, os.getpid(), 0)
    page[0] ^= changed
    fd = os.memfd_create("gpushim-live")
    os.write(fd, page)
    return lambda: struct.unpack_from("<I", os.pread(fd, 16, 0), 12)[0] != 0
begun, done = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    asked = show(1)
    os.write(begun[1], b"1")
    os.read(done[0], 1)
    os._exit(asked())
os.read(begun[0], 1)
asked = show(0)
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL)
os.write(done[1], b"1")
print(asked(), os.waitpid(child, 0)[1] != 0)
END_PYTHON
export SIM_SHARED=$folder/shared5 GPUSHIM_ALLOC_CONF=snapshot:off
"$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_purge" 600 8 30000 >"$folder/first" &
first=$!
sleep 1
is 'a neighbour is asked, what is none is not' "$(timeout 60 python3 -c "$forge" $first \
	"$TOP/scripts/sim-run" --build "$BUILD" "$programs/rt_want" 1000 4000)" 'True False'
wait $first
done_testing
