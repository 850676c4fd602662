#!/bin/bash
# make install: what lands where, that the report tool there finds its libraries without the packages, and that the library
# is preloaded by either name.
. "$TOP/tests/lib/tap.sh"

to=$(mktemp -d)
build=$(realpath --relative-to="$TOP" "$BUILD")
version=$("$BUILD/gpushim-report" --version | cut -d ' ' -f 2)
export GPUSHIM_ALLOC_CONF=log:info,snapshot:off
preloaded() { # preloaded LIBRARY: its lines on standard error
	LD_LIBRARY_PATH=$BUILD/sim LD_PRELOAD=$1 timeout 20 "$BUILD/tests/preload/rt_demo" 2>&1 >/dev/null
}

ok 'install works' "$TOP/scripts/install" "$to/usr" "$version" "$build" /opt/x
for file in lib/gpushim/libgpushim.so lib/gpushim/libunwind.so.8 lib/gpushim/libcjson.so.1 lib/pkgconfig/gpushim.pc bin/gpushim-report \
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
is 'what links to it would ask for the name that is preloaded' \
	"$(readelf -d "$to/usr/lib/libgpushim.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libgpushim.so

# Which libunwind it opens, once it is in the process.
opened() { LD_DEBUG=files preloaded "$1" | sed -n 's|.*calling init: \(.*/libunwind\.so\.8\)$|\1|p'; }
for name in gpushim/libgpushim.so libgpushim.so; do
	is "$name takes libunwind from there" "$(realpath "$(opened "$to/usr/lib/$name")")" "$(realpath "$to/usr/lib/gpushim/libunwind.so.8")"
done
is 'by its name alone, where the loader looks' \
	"$(LD_LIBRARY_PATH=$to/usr/lib:$BUILD/sim LD_PRELOAD=libgpushim.so "$BUILD/tests/preload/rt_demo" 2>&1 | grep -c 'cannot be preloaded')" 0

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$to/usr/lib/pkgconfig
	is 'pkg-config: version' "$(pkg-config --modversion gpushim)" "$version"
	is 'pkg-config: flags to compile' "$(pkg-config --cflags gpushim | xargs)" '-I/opt/x/include'
	is 'pkg-config: nothing to link to' "$(pkg-config --libs gpushim)" ''
	is 'pkg-config: what to preload' "$(pkg-config --variable=preload gpushim)" /opt/x/lib/libgpushim.so
else
	skip 'pkg-config: version, flags, what to preload' 'no pkg-config'
fi

# A program whose libraries lie in a folder with a blank.
mkdir -p "$to/a b/lib" "$to/copied"
cp "$BUILD/gpushim-report" "$to/a b/"
cp "$to/usr/lib/gpushim/libcjson.so.1" "$to/a b/lib/"
ok 'libraries in a folder with a blank' "$TOP/scripts/copy-libs" "$to/copied" "$to/a b/gpushim-report"
ok 'are copied' test -f "$to/copied/libcjson.so.1"
rm -rf "$to"
done_testing
