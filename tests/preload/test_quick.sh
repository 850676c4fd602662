#!/bin/bash
# Which runtime calls are answered at the door, and which have to enter the runtime: shim/api/quick.h.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

export GPUSHIM_ALLOC_CONF=snapshot:off
quick() { # quick CASE [ARGUMENT]: what the case prints
	sim --devices 2 "$programs/rt_quick" "$@"
	cat "$folder/out"
}

is 'held memory is served at the door, all else is left to the runtime (H5, H21)' "$(quick plain)" \
	'served from what is held: 0 entered
likewise, legacy: 0 entered
free of nothing: 1 entered
nothing asked for: 1 entered
new memory: 1 entered
too much: 2, last error 2, both: 1 entered
inside of a block: 1, last error 1, both: 1 entered
freed already: 1, last error 1, both: 1 entered
a stream of its own: 0 entered
a stream that has ended: 1, with the last error: 1 entered'
is 'the first call of a thread enters (H5)' "$(quick thread)" \
	'the first two calls of a thread: 2 entered
two more: 0 entered'
is 'which device is current is known as long as its context is (H21)' "$(quick ask)" \
	'first: device 0, the question: 1 entered
again: device 0, the question: 0 entered
the other: device 1, the question: 1 entered
again: device 1, the question: 0 entered
by the driver: device 0, the question: 1 entered
again: device 0, the question: 0 entered
a context of the other: device 1, the question: 1 entered
without it: device 0, the question: 1 entered
another thread: device 0, the question: 1 entered
once more there: device 0, the question: 1 entered
after a reset: device 1, the question: 1 entered
again: device 1, the question: 1 entered'
is 'so does the first one on another device' "$(quick device)" \
	'another device: 2 entered
again there: 0 entered
back: 2 entered
again back: 0 entered'
is 'and in another context, or the same one after a reset (H21)' "$(quick context)" \
	'another context: 2 entered
again there: 0 entered
the first one again: 2 entered
and again: 0 entered
after a reset: 2 entered'
is 'the stream of the thread is served at the door, too' "$(quick per-thread)" \
	'an allocation on the stream of the thread: 0 entered
its free: 0 entered'
is 'a free on the legacy stream that keeps blocking streams in order enters where there was work (H2)' "$(quick barrier)" \
	'beside a stream that takes no part: 0 entered
beside a blocking stream: 0 entered'
is 'what is known of one stream is not believed of another' "$(quick foreign)" \
	'64 streams of another device: 64 entered'
is 'all do while a capture is open (H9)' "$(quick capture)" \
	'while a capture is open: 2 entered
after it: 0 entered'
is 'a free that has to wait enters (H4)' "$(quick copy)" 'a free while a copy to the host may run: 1 entered'
export GPUSHIM_ALLOC_CONF=snapshot:off,free_sync:always
like 'with free_sync:always all do' "$(quick plain)" 'likewise, legacy: 1 entered'
export GPUSHIM_ALLOC_CONF=snapshot:off,ipc:legacy
like 'what must be memory of its own enters' "$(quick plain)" 'likewise, legacy: 2 entered'
is 'also where other memory is idle' "$(quick legacy)" 'legacy, with idle memory: 2 entered'
export GPUSHIM_ALLOC_CONF=snapshot:off,backend:off
like 'and all does with backend:off' "$(quick plain)" 'served from what is held: 2 entered
likewise, legacy: 2 entered'
export GPUSHIM_ALLOC_CONF=snapshot:off
is 'allocations from another pool enter' "$(quick pool)" \
	'another pool is current: 2 entered
the default one again: 0 entered'
export SIM_FAULT=cuCtxSynchronize:4:700
is 'calls after an error that sticks enter' "$(quick broken)" \
	'a wait: 700
an allocation: 700, which: 1 entered'
unset SIM_FAULT
is 'all calls enter once a profiler watches (H22)' "$(quick tool)" \
	'no libcupti: 15
a profiler watches: 2 entered'
is 'or may do so' "$(quick lookup)" \
	'a function of libcupti was looked up that shows nothing: 0 entered
one that shows calls: 2 entered'
noted() { # noted: allocations and frees in the history of a program, and how many of them
	GPUSHIM_ALLOC_CONF=snapshot:exit sim --devices 2 "$programs/rt_quick" thread
	python3 -c '
import collections, json, sys
events = json.load(open(sys.argv[1]))["events"]
print(*sorted(collections.Counter(events["type_names"][t] for t in events["type"] if t < 2).items()))
' "$folder"/gpushim.*.json
}
history=$(noted)
like 'what is served at the door is in the history' "$history" "'alloc', [1-9].*'free', [1-9]"
export CUDA_INJECTION64_PATH=/nowhere
is 'as what enters is' "$(noted)" "$history"
like 'or was injected' "$(quick plain)" 'served from what is held: 2 entered'
unset CUDA_INJECTION64_PATH
is 'each runtime has to be entered first (H21, H26)' "$(quick runtimes "$programs/lib_rt12_count.so")" \
	'the first two calls through another runtime: 2 entered
two more: 0 entered'
export LD_PRELOAD=$programs/lib_tool_malloc.so
is 'a tool behind us sees every call' "$(quick behind)" 'the tool saw 2 of two'
LD_PRELOAD="$programs/lib_front.so $BUILD/libgpushim.so"
sim --no-shim "$programs/rt_quick" front
is 'a tool between the runtime and us sees every call' "$(cat "$folder/out")" 'the tool saw 2 of two'
unset LD_PRELOAD
done_testing
