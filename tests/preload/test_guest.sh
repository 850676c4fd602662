#!/bin/bash
# A guest no one notices: programs without CUDA print the same, end the same and find no new file.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
cd "$folder" || exit 1

both() { # both NAME COMMAND..: the same output, errors and status with the shim and without
	local name=$1 plain guest
	shift
	plain=$("$@" 2>&1 </dev/null; echo "status $?")
	guest=$(LD_PRELOAD=$BUILD/libgpushim.so "$@" 2>&1 </dev/null; echo "status $?")
	is "$name" "$guest" "$plain"
}

ok 'the library is there' test -f "$BUILD/libgpushim.so"
both 'true' /bin/true
both 'false' /bin/false
both 'bash' bash -c 'echo $((6 * 7)); exit 3'
both 'a pipe, a subshell, a trap' bash -c '(seq 9 | sort -r; trap "echo bye" EXIT); kill -TERM $$'
both 'a program that does not exist' bash -c 'exec /no/such/program'
both 'fork without exec' perl -e '$| = 1; if (fork) { wait; print $? >> 8, "\n" } else { exit 5 }'
both 'errno after a failure' ls /no/such/file
export GPUSHIM_ALLOC_CONF=nonsense:1,strict:True
both 'bad settings do not matter without CUDA' /bin/true
both 'torch:serve does not show without PyTorch' env GPUSHIM_ALLOC_CONF=torch:serve bash -c 'echo "$HOME"'
unset GPUSHIM_ALLOC_CONF

pythons=0
for python in python3 "$HOME"/.pyenv/versions/*/bin/python3; do
	command -v "$python" >/dev/null || continue
	pythons=$((pythons + 1))
	version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	both "python $version: pass" "$python" -c pass
	both "python $version: a status" "$python" -c 'import sys; sys.exit(7)'
	both "python $version: threads, ctypes, subprocess" "$python" -c '
import ctypes, errno, subprocess, threading
threads = [threading.Thread(target=lambda: subprocess.check_call(["true"])) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
libc = ctypes.CDLL(None, use_errno=True)
print(libc.close(-1), errno.errorcode[ctypes.get_errno()], libc.dlsym is not None)
try:
    ctypes.CDLL("/no/such/library.so")
except OSError as error:
    print(error)
try:
    libc.no_such_function
except AttributeError as error:
    print(error)'
done
[ $pythons -gt 0 ] || skip 'python' 'there is none'

is 'no file was left' "$(ls -A)" ''
cd /
rm -rf "$folder"
done_testing
