#!/bin/bash
# slow
# timeout 280
# Random programs: what they print is the same with gpushim as without it, under many settings and schedules. More of
# them: make soak SEED=1000 ROUNDS=1000.
. "$TOP/tests/lib/tap.sh"

ok 'every setting is tried, or left out on purpose' "$TOP/tests/soak/soak.py" --check-settings
output=$("$TOP/tests/soak/soak.py" --build "$BUILD" --seed 1 --rounds 40 --time 75 --shrink 60 2>&1)
tap_result $? 'random programs' "$output"
like 'and there was time for some' "$output" 'soak: [1-9][0-9]* seeds held'
grep '^soak: ' <<<"$output" | sed 's/^/# /'
done_testing
