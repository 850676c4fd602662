#!/bin/bash
# README.md and CONTRIBUTING.md say what is so: the table of settings is that of the rows, and what they name is there.
. "$TOP/tests/lib/tap.sh"

pages=("$TOP/README.md" "$TOP/CONTRIBUTING.md")

table=$(sed -n '/^<!-- settings:/,/^<!-- end of settings/p' "$TOP/README.md" | sed '1d;$d')
is 'the table of settings' "$table" "$("$BUILD/gpushim-report" --help-conf=markdown)"
like 'help for the terminal' "$("$BUILD/gpushim-report" --help-conf)" 'torch:observe'

missing=''
for path in $(grep -ohE '`(shim|allocator|graph|report|tests|scripts)/[A-Za-z0-9_./-]*`' "${pages[@]}" | tr -d '`' | sort -u); do
	[ -e "$TOP/$path" ] || missing="$missing $path"
done
is 'every file and folder that they name exists' "$missing" ''

missing=''
for target in $(grep -ohP '`?make [a-z]+\b(?!/)`?' "${pages[@]}" | tr -d '`' | awk '{ print $2 }' | sort -u); do
	grep -qE "^([a-z]+ )*$target( [a-z]+)*:" "$TOP/Makefile" || missing="$missing $target"
done
is 'every make target that they name exists' "$missing" ''

missing=''
for anchor in $(grep -oE '\]\(#[a-z0-9-]+\)' "$TOP/README.md" | tr -d ']()#' | sort -u); do
	sed -n 's/^##* //p' "$TOP/README.md" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' | grep -qx -- "$anchor" || missing="$missing $anchor"
done
is 'every section that README.md points to exists' "$missing" ''

missing=''
for command in $(grep -ohE 'gpushim-report [a-z]+' "${pages[@]}" | awk '{ print $2 }' | sort -u); do
	[ "$command" = reads ] || "$BUILD/gpushim-report" "$command" --help >/dev/null 2>&1 || missing="$missing $command"
done
is 'every command of gpushim-report that they name exists' "$missing" ''
done_testing
