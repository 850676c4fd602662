#!/bin/bash
# cuda-gdb.sh PROGRAM: a debugger attaches to the running program, looks at its threads and libraries and ends it.
# It does not let it go on: cuda-gdb 13.0 then leaves a program behind that dies, with gpushim or without.
. "${0%/*}/environment.sh"
need_command cuda-gdb
"$1" >program.log 2>&1 &
program=$!
for _ in {1..100}; do
	grep -q running program.log && break
	sleep 0.1
done
env -u LD_PRELOAD timeout 60 "$found" -batch -nx -p $program -ex 'info threads' -ex 'info sharedlibrary' -ex kill >debugger.log 2>&1
if ! grep -q 'Thread\|LWP' debugger.log && [ -z "${LD_PRELOAD-}" ]; then
	kill $program
	tail -n 5 debugger.log
	absent 'attach-refused'
fi
tail -n 20 debugger.log
grep -q 'Thread\|LWP' debugger.log && echo 'ok attached'
[ -z "${LD_PRELOAD-}" ] || grep -q libgpushim debugger.log || echo 'ok, but without gpushim'
wait $program
[ $? = 137 ] && echo 'ok ended'
exit 0
