#!/bin/bash
# setuid.sh PROGRAM: a copy of it that runs as somebody else. The loader leaves gpushim out of such a program; without
# gpushim it must do the same. Needs root.
. "${0%/*}/environment.sh"
[ "$(id -u)" = 0 ] || absent 'root'
copy=$(mktemp -d /var/tmp/gpushim-setuid.XXXXXX)
trap 'rm -rf "$copy"' EXIT
cp "$1" "$copy/program"
cp "$(command -v id)" "$copy/id"
chown nobody "$copy"/*
chmod 4755 "$copy"/*
chmod 755 "$copy"
[ "$("$copy/id" -u)" = "$(id -u nobody)" ] || absent 'nosuid'
if [ -z "${LD_PRELOAD-}" ] && ! "$copy/program" >out 2>&1; then
	cat out
	absent 'not-as-nobody'
fi
"$copy/program"
