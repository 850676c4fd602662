#!/bin/bash
# scripts/setup with stand-ins for the compiler, apt-get and id: what it says, and that it installs only what is missing.
. "$TOP/tests/lib/tap.sh"

tools=$(mktemp -d)

stand_in() { # stand_in NAME: a command with the text of stdin
	{ echo '#!/bin/sh' && cat; } >"$tools/$1"
	chmod +x "$tools/$1"
}

setup() { # setup ARGUMENT..: output in $output, status in $status
	output=$(CC=${cc:-gcc} PATH=$tools "$BASH" -c 'exec /bin/sh "$0" "$@"' "$TOP/scripts/setup" "$@" 2>&1)
	status=$?
}

compiler() { # compiler COMMAND: what gcc does with the text of a program; it knows of every library
	stand_in gcc <<<'case $1 in -print-file-name=*) echo "/lib/${1#*=}" && exit ;; esac; '"$1"
}

for command in cat mktemp rm grep sh mkdir; do
	ln -s "$(command -v $command)" "$tools/$command"
done
compiler 'exit 0'
stand_in make <<<'exit 0'
stand_in python3 <<<'exit 0'
stand_in node <<<'exit 0'
stand_in npm <<<'exit 0'
stand_in chromium <<<'exit 0'
stand_in apt-get <<<'echo "apt-get $*" >>"'"$tools"'/calls"'
stand_in id <<<'echo 1000'

setup
is 'all there: nothing is said' "$status:$output" '0:'
setup --tests
is 'all there for tests too' "$status:$output" '0:'
stand_in cached <<<'exec "$@"'
cc='cached gcc' setup
is 'a compiler of two words' "$status:$output" '0:'

compiler '! grep -q -e cJSON -e cmocka'
setup
is 'not root: one line that says what to install' "$status:$output" \
	'1:gpushim: run this first: sudo apt-get install -y libcjson-dev'
setup --tests
is 'the packages of the tests only with --tests' "$status:$output" \
	'1:gpushim: run this first: sudo apt-get install -y libcjson-dev libcmocka-dev'
stand_in gcc <<<'case $1 in -print-file-name=*) echo "${1#*=}" ;; esac'
setup --tests
is 'a library that is not there is named as it was asked for' "$status:$output" \
	'1:gpushim: run this first: sudo apt-get install -y libjemalloc2 libtcmalloc-minimal4'
rm "$tools/gcc" "$tools/make"
setup
is 'a bare machine' "$status:$output" \
	'1:gpushim: run this first: sudo apt-get install -y build-essential libunwind-dev libcjson-dev zlib1g-dev libdw-dev libiberty-dev'
ok 'apt-get was not called' test ! -e "$tools/calls"

stand_in id <<<'echo 0'
compiler '! grep -q -e cJSON'
stand_in make <<<'exit 0'
setup --tests
is 'root: says what it installs' "$status:$output" '0:gpushim: installing libcjson-dev'
is 'root: updates once, then installs without a question' "$(cat "$tools/calls")" 'apt-get -q update
apt-get -q install -y --no-install-recommends libcjson-dev'
stand_in apt-get <<<'echo no network; exit 100'
setup
is 'root: a failure is shown' "$status:$output" \
	"1:gpushim: installing libcjson-dev
no network
gpushim: apt-get could not install: libcjson-dev"
rm "$tools/apt-get"
setup
is 'not Debian' "$status:$output" '1:gpushim: install what your system calls these Debian packages: libcjson-dev'
setup --test
is 'a bad option' "$status:$output" '2:usage: scripts/setup [--tests]'

output=$(make -s -C "$TOP" CUDA_HOME=/nowhere 2>/dev/null 3>&1 >&2 2>&3 | grep -v '^make')
is 'no toolkit: one line' "$output" \
	'gpushim: no CUDA Toolkit (12.4 or newer) at /nowhere; install it, or say where it is: make CUDA_HOME=/path'
rm -rf "$tools"
done_testing
