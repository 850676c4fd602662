#!/bin/bash
# timeout 200
# slow
# GPUSHIM_ALLOC_CONF in a running program: every backend gives the same results; mistakes get one line each.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

for conf in backend:cudamalloc backend:off expandable_segments:False free_sync:always free_sync:never torch:off \
	torch:serve memory_limit:512M stacks:off,history:0,watch:off stacks:all history:16; do
	export GPUSHIM_ALLOC_CONF=$conf
	same "$conf" "$programs/rt_mix" 1 600
	like "$conf: nothing wrong" "$output" ' 0 words wrong'
	is "$conf: nothing said" "$said" ''
done
GPUSHIM_ALLOC_CONF=backend:cudamalloc same 'backend:cudamalloc, random' --policy random "$programs/rt_mix" 2 600
GPUSHIM_ALLOC_CONF=expandable_segments:False same 'one handle a segment, random' \
	--policy random "$programs/rt_mix" 3 600
GPUSHIM_ALLOC_CONF=backend:cudamalloc same 'backend:cudamalloc: codes' "$programs/rt_codes"
GPUSHIM_ALLOC_CONF=backend:off same 'backend:off: codes' "$programs/rt_codes"
GPUSHIM_ALLOC_CONF=backend:off same 'backend:off: pointers' "$programs/drv_pointer"
GPUSHIM_ALLOC_CONF=backend:off sim "$programs/rt_mix" 1 600
is 'backend:off: no block of ours' "$(snapshot blocks)" '0 0'
GPUSHIM_ALLOC_CONF=memory_limit:64M sim "$programs/rt_oom"
like 'memory_limit: less than the device' "$(head -n 1 "$folder/out")" '^[34] pieces, then 2, last error 2'

one_line() { # one_line NAME CONF TEXT: the program goes on, and one line says what is wrong
	export GPUSHIM_ALLOC_CONF=$2
	same "$1: the program goes on" "$programs/rt_mix" 1 50
	is "$1: one line" "$(grep -c . <<<"$said")" 1
	like "$1: says it" "$said" "$3"
}
one_line 'an unknown key' 'bakend:vmm' "^gpushim: .*bakend.*backend"
one_line 'a bad value' 'stacks:off,free_sync:somtimes' '^gpushim: .*free_sync:somtimes'
one_line 'no value' 'history' '^gpushim: .*history'
one_line 'a value out of range' 'graph_chunk:3' '^gpushim: .*graph_chunk:3'
one_line "PyTorch's backend" 'backend:cudaMallocAsync' '^gpushim: .*cudaMallocAsync.*torch:serve'

GPUSHIM_ALLOC_CONF=bakend:vmm,strict:True sim "$programs/rt_mix" 1 50
is 'strict: ends with 78 before any work' "$status:$(cat "$folder/out")" 78:
is 'strict: the line, and that it ends' "$(grep -c '^gpushim: ' "$folder/err")" 2

unset GPUSHIM_ALLOC_CONF
same 'where nothing can be written' true
for place in "$folder/no/such/folder" "$folder/out"; do
	GPUSHIM_ALLOC_CONF=snapshot:exit,snapshot_dir:$place same "snapshot_dir ${place##*/}: results and status" \
		--memory 256M "$programs/rt_oom"
	is "snapshot_dir ${place##*/}: no snapshot" "$(find "$folder" -name 'gpushim.*')" ''
	is "snapshot_dir ${place##*/}: one line about it" "$(grep -c "^gpushim: no snapshot $place/" <<<"$said")" 1
done
GPUSHIM_ALLOC_CONF=snapshot:off sim "$programs/rt_mix" 1 50
is 'snapshot:off: no file, nothing said' "$(find "$folder" -name 'gpushim.*')$(cat "$folder/err")" ''
mkdir "$folder/elsewhere"
RANK=3 GPUSHIM_ALLOC_CONF=snapshot_dir:$folder/elsewhere sim "$programs/rt_mix" 1 50
is 'snapshot_dir and rank' "$(find "$folder/elsewhere" -name 'gpushim.*.rank3.json' | wc -l)" 1
done_testing
