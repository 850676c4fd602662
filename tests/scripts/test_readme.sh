#!/bin/bash
# README.md says what is so: its table of settings is that of the rows, and what it names is there.
. "$TOP/tests/lib/tap.sh"

table=$(sed -n '/^<!-- settings:/,/^<!-- end of settings/p' "$TOP/README.md" | sed '1d;$d')
is 'the table of settings' "$table" "$("$BUILD/gpushim-report" --help-conf=markdown)"
like 'help for the terminal' "$("$BUILD/gpushim-report" --help-conf)" 'torch:observe'

missing=''
for path in $(grep -oE '`(shim|allocator|graph|report|tests|scripts)/[A-Za-z0-9_./-]*`' "$TOP/README.md" | tr -d '`' | sort -u); do
	[ "$path" = graph/ ] && continue # a room without a file so far
	[ -e "$TOP/$path" ] || missing="$missing $path"
done
is 'every file and folder that it names exists' "$missing" ''

missing=''
for target in $(grep -oE '`?make [a-z]+`?' "$TOP/README.md" | tr -d '`' | awk '{ print $2 }' | sort -u); do
	grep -qE "^([a-z]+ )*$target( [a-z]+)*:" "$TOP/Makefile" || missing="$missing $target"
done
is 'every make target that it names exists' "$missing" ''
done_testing
