#!/bin/bash
# What programs are told about driver functions: a static runtime, and every name, version and flag there is.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
cd "$folder" || exit 1
programs=$BUILD/tests/preload

wrongs() { # wrongs FILE: what was answered wrongly, at most a few lines
	grep '^wrong' "$1" | head -n 5
}

SIM_LOG_PROC_ADDRESS=$folder/plain.log "$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$programs/st_procaddr" >plain.txt 2>/dev/null
is 'static runtime alone: ends normally' $? 0
SIM_LOG_PROC_ADDRESS=$folder/guest.log "$TOP/scripts/sim-run" --build "$BUILD" "$programs/st_procaddr" >guest.txt 2>guest.err
is 'static runtime: ends normally' $? 0
is 'static runtime: finds one function by dlsym' "$(grep '^dlsym cu' guest.txt)" 'dlsym cuGetProcAddress_v2'
is 'static runtime: asks the same questions' "$(grep '^ask ' guest.txt)" "$(grep '^ask ' plain.txt)"
ok 'static runtime: the driver got each of them, and no other' \
	cmp <(sort -u guest.log) <(sed -n 's/^ask //p' plain.txt | sort -u)
is 'static runtime: gives up as it does alone' "$(tail -n 1 guest.txt)" "$(tail -n 1 plain.txt)"
is 'static runtime: no wrong answer alone' "$(wrongs plain.txt)" ''
is 'static runtime: no wrong answer' "$(wrongs guest.txt)" ''
like 'static runtime: hundreds of questions' "$(tail -n 1 guest.txt)" '^[3-9][0-9][0-9] questions'
ok 'static runtime: both kinds of default stream' grep -q '^ask cuMemcpyAsync [0-9]* 2$' guest.txt
is 'static runtime: first comes the empty name' "$(grep -m 1 '^ask ' guest.txt)" 'ask "" 0 0'
like 'static runtime: entries and trampolines' "$(grep '^answers' guest.txt)" \
	' 0 driver, [2-9][0-9][0-9] entries, [1-9][0-9]* trampolines, 0 wrong'
is 'static runtime: nothing said by the shim' "$(grep -v '^gpushim-sim: ' guest.err)" ''

"$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$programs/drv_procaddr" >plain.txt 2>&1
is 'all names alone: ends normally' $? 0
"$TOP/scripts/sim-run" --build "$BUILD" "$programs/drv_procaddr" >guest.txt 2>guest.err
is 'all names: ends normally' $? 0
is 'all names: no wrong answer alone' "$(wrongs plain.txt)" ''
is 'all names: no wrong answer' "$(wrongs guest.txt)" ''
like 'all names: entries and trampolines' "$(grep '^cuGetProcAddress' guest.txt)" \
	' 0 driver, [0-9]{5,} entries, [0-9]{4,} trampolines, 0 wrong'
like 'dlsym: entries and trampolines' "$(grep '^dlsym' guest.txt)" \
	' 0 driver, [2-9][0-9][0-9] entries, [1-9][0-9]* trampolines, 0 wrong'
is 'a trampoline leads to its function (H17)' "$(grep '^unlisted' guest.txt)" "$(grep '^unlisted' plain.txt)"
is 'all names: nothing said' "$(cat guest.err)" ''
is 'no file was left' "$(find . -name 'gpushim.*')" ''
cd /
rm -rf "$folder"
done_testing
