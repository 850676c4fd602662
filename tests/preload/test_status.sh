#!/bin/bash
# status:N: a line on standard error every N seconds.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

line='^gpushim: [12] s; step [0-9]+, [0-9]+\.[0-9] ms each; [0-9]+ launches/s, host waits [0-9]+ %; GPU 0 [0-9]+ MiB of [0-9]+ MiB live$'
GPUSHIM_ALLOC_CONF=status:1,snapshot:off sim "$programs/rt_samples" steps 2.6
is 'it runs' "$status" 0
is 'a line a second' "$(grep -c '^gpushim: [0-9]* s; ' "$folder/err")" 2
like 'with steps, launches, waits and memory' "$(tail -n 1 "$folder/err")" "$line"
GPUSHIM_ALLOC_CONF=status:1,watch:off,snapshot:off sim "$programs/rt_samples" steps 1.6
like 'without watching there is memory to tell' "$(cat "$folder/err")" '^gpushim: 1 s; 0 launches/s, host waits [0-9]+ %; GPU 0 [0-9]+ MiB of'
GPUSHIM_ALLOC_CONF=snapshot:off sim "$programs/rt_samples" steps 1.2
is 'by default there is none' "$(cat "$folder/err")" ''
done_testing
