#!/bin/bash
# On a machine without a driver: programs that look for one get the answer they get without the shim, quickly.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
cd "$folder" || exit 1
shim=$BUILD/libgpushim.so
programs=$BUILD/tests/preload

both() { # both NAME COMMAND..: same output and status with the shim and without
	local name=$1 plain guest
	shift
	plain=$("$@" 2>&1; echo "status $?")
	guest=$(LD_PRELOAD=$shim "$@" 2>&1; echo "status $?")
	is "$name" "$guest" "$plain"
}

if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	skip 'a program that looks for a driver' 'there is a driver'
else
	guest=$(LD_PRELOAD=$shim "$programs/dl_driver" 2>&1; echo "status $?")
	is 'a program that looks for a driver' "$(grep -v '^cuInit' <<<"$guest")" \
		"$("$programs/dl_driver" 2>&1; echo "status $?")"
	is 'it finds our cuInit, which knows of no device' "$(grep '^cuInit' <<<"$guest")" 'cuInit says 100'
	both 'a Python program that looks for a driver' python3 -c '
import ctypes
for name in "libcuda.so.1", "libcudart.so.13":
    try:
        ctypes.CDLL(name)
    except OSError as error:
        print(error)'
fi
both 'true' /bin/true
both 'bash' bash -c 'echo $((6 * 7)); exit 3'
both 'python' python3 -c 'print(6 * 7); raise SystemExit(3)'
is 'no file was left' "$(ls -A)" ''

# Processor time, the least of twenty runs: what the rest of the machine does has no part in it.
more=$(python3 -c '
import os, sys
def best_ms(environment):
    times = []
    for _ in range(20):
        usage = os.wait4(os.spawnve(os.P_NOWAIT, "/bin/true", ["true"], environment), 0)[2]
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times) * 1000
plain = dict(os.environ)
print(round(best_ms(dict(plain, LD_PRELOAD=sys.argv[1])) - best_ms(plain), 1))' "$shim")
ok "costs a process without CUDA $more ms" awk "BEGIN { exit !($more < 5) }"
cd /
rm -rf "$folder"
done_testing
