#!/bin/bash
# make deb: what the package says of itself, that it installs and leaves nothing behind, and that what it installs works.
. "$TOP/tests/lib/tap.sh"

if ! command -v dpkg-shlibdeps >/dev/null; then
	skip 'a package is made' 'no dpkg-shlibdeps'
	done_testing
	exit
fi
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
build=$(realpath --relative-to="$TOP" "$BUILD")
version=$("$BUILD/gpushim-report" --version | cut -d ' ' -f 2)
package=$TOP/$("$TOP/scripts/deb/build" "$version" "$build" 2>"$to/errors")
is 'it is built without a word' "$(cat "$to/errors")" ''
field() { dpkg-deb --field "$package" "$1"; }
is 'its version' "$(field Version)" "$version"
for name in libc6 libcjson1 libunwind8 zlib1g; do
	like "it needs $name" "$(field Depends)" "(^|, )$name"
done
is 'all of it belongs to root' "$(dpkg-deb --contents "$package" | awk '$2 != "root/root"')" ''
is 'and nobody else may write there' "$(dpkg-deb --contents "$package" | awk '$1 !~ /^l/ && $1 ~ /^.....w|^........w/')" ''
is 'no folder that is not for packages' \
	"$(dpkg-deb --contents "$package" | awk '{ print $6 }' | grep -vE '^\./(usr/((bin|include|lib|share)/.*)?)?$')" ''
for file in share/bash-completion/completions/gpushim-report share/zsh/vendor-completions/_gpushim-report \
	share/fish/vendor_completions.d/gpushim-report.fish share/man/man1/gpushim-report.1.gz share/man/man3/gpushim.3.gz; do
	like "$file, where Debian looks for it" "$(dpkg-deb --contents "$package" | awk '{ print $6 }')" "\./usr/$file"
done

if [ "$(id -u)" = 0 ]; then
	root=$to/root
	mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers"
	touch "$root/var/lib/dpkg/status"
	files() { find "$root" -path "$root/var" -prune -o -print | sort; }
	before=$(files)
	in_root() { dpkg --root="$root" --force-depends --log=/dev/null "$@" >"$to/log" 2>&1; }
	ok 'it installs' in_root --install "$package"
	is 'every file is as it was packed' "$(dpkg --root="$root" --verify gpushim 2>&1)" ''
	like 'its report tool runs' "$("$root/usr/bin/gpushim-report" --version)" "$version"
	is 'its library is preloaded' "$(GPUSHIM_ALLOC_CONF=snapshot_dir:$to LD_LIBRARY_PATH=$BUILD/sim LD_PRELOAD=$root/usr/lib/libgpushim.so \
		timeout 20 "$BUILD/tests/preload/rt_demo" 2>&1 >/dev/null | grep -c 'cannot be preloaded')" 0
	like 'and writes a snapshot that its tool reads' "$("$root/usr/bin/gpushim-report" summary "$to"/gpushim.*.json 2>&1)" "gpushim $version"
	ok 'it installs over itself' in_root --install "$package"
	ok 'it is removed' in_root --purge gpushim
	is 'and leaves nothing behind' "$(files)" "$before"
else
	skip 'it installs, works, and leaves nothing behind' 'not root'
fi
rm -f "$package"
done_testing
