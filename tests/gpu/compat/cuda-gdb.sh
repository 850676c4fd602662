#!/bin/bash
# cuda-gdb.sh PROGRAM: a debugger attaches to the running program, looks at its threads and leaves; the program ends well.
. "${0%/*}/environment.sh"
need_command cuda-gdb
"$1" >program.log 2>&1 &
program=$!
for _ in {1..100}; do
	grep -q running program.log && break
	sleep 0.1
done
env -u LD_PRELOAD timeout 60 "$found" -batch -nx -p $program -ex 'info threads' -ex detach >debugger.log 2>&1
if ! grep -q 'Thread\|LWP' debugger.log && [ -z "${LD_PRELOAD-}" ]; then
	kill $program
	tail -n 5 debugger.log
	absent 'attach-refused'
fi
tail -n 20 debugger.log
grep -q 'Thread\|LWP' debugger.log && echo 'ok attached'
touch enough
wait $program
status=$?
cat program.log
exit $status
