#!/bin/bash
# make install: what lands where, and that the report tool there finds its libraries without the packages.
. "$TOP/tests/lib/tap.sh"

to=$(mktemp -d)
ok 'install works' "$TOP/scripts/install" "$to/usr" "$(realpath --relative-to="$TOP" "$BUILD")"
for file in lib/gpushim/libgpushim.so lib/gpushim/libunwind.so.8 lib/gpushim/libcjson.so.1 bin/gpushim-report \
	include/gpushim.h share/man/man1/gpushim-report.1 share/man/man3/gpushim.3 \
	share/bash-completion/completions/gpushim-report share/zsh/site-functions/_gpushim-report share/fish/vendor_completions.d/gpushim-report.fish; do
	ok "$file is there" test -f "$to/usr/$file"
done
ok 'the report tool runs' "$to/usr/bin/gpushim-report" --help
is 'and takes its libraries from there' "$(ldd "$to/usr/bin/gpushim-report" | sed -n 's/.*libcjson.so.1 => \(.*\) (.*/\1/p')" \
	"$to/usr/bin/../lib/gpushim/libcjson.so.1"
is 'no library of the C library was copied' "$(cd "$to/usr/lib/gpushim" && ls -d libc.* libm.* ld-* 2>/dev/null)" ''
is 'the installed shim needs libc alone' \
	"$(readelf -d "$to/usr/lib/gpushim/libgpushim.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')" libc.so.6

# A program whose libraries lie in a folder with a blank.
mkdir -p "$to/a b/lib" "$to/copied"
cp "$BUILD/gpushim-report" "$to/a b/"
cp "$to/usr/lib/gpushim/libcjson.so.1" "$to/a b/lib/"
ok 'libraries in a folder with a blank' "$TOP/scripts/copy-libs" "$to/copied" "$to/a b/gpushim-report"
ok 'are copied' test -f "$to/copied/libcjson.so.1"
rm -rf "$to"
done_testing
