#!/bin/bash
# What README.md shows of a few programs is what they print, but for the figures; and what its first lines say in figures is under
# "Measured".
. "$TOP/tests/lib/tap.sh"

cuda=${CUDA_HOME:-/usr/local/cuda}
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
mkdir "$to/bin"
unset GPUSHIM_ALLOC_CONF

# The lines of the fenced block of README.md that holds a text.
block() {
	awk -v text="$1" '/^```/ { if (inside && found) { printf "%s", lines; exit }; inside = !inside; lines = ""; found = 0; next }
		inside { lines = lines $0 "\n"; if (index($0, text)) found = 1 }' "$TOP/README.md"
}

# What is left of a report without figures, widths and the paths of files.
form() {
	sed -E 's/^[^ ]*gpushim\.[0-9]+\.json: [^ ]*$//; s/\+0x[0-9a-f]+//g; s/[0-9][0-9.,]*( (ns|us|ms|s|B|KiB|MiB|GiB)\b)?/N/g; s/ +/ /g; s/^ //; /^(\.\.\.)?$/d' | sort -u
}

shows() { # shows NAME TEXT FILE: every line of the block with the text is in the file, but for figures
	local missing
	missing=$(block "$2" | form | comm -23 - <(form <"$3"))
	[ -n "$(block "$2")" ] || missing='no such block in README.md'
	is "$1" "$missing" ''
}

sim() { # sim FOLDER COMMAND..: its snapshot is $snapshot
	mkdir -p "$to/$1"
	(cd "$to/$1" && shift && timeout 60 "$TOP/scripts/sim-run" --build "$BUILD" "$@") >"$to/out" 2>"$to/err"
	snapshot=$(ls "$to/$1"/gpushim.*.json)
}

if [ -x "$cuda/bin/nvcc" ]; then
	ok 'nvcc makes the program' "$cuda/bin/nvcc" -cudart shared -o "$to/bin/train" "$TOP/tests/scripts/train.cu"
	sim train "$to/bin/train"
	is 'it runs on the simulated GPU' "$(cat "$to/out")" 'no error'
	like 'which says that kernels do nothing there' "$(cat "$to/err")" 'kernels that nvcc compiled do nothing'
	"$BUILD/gpushim-report" top "$snapshot" >"$to/top"
	shows 'who holds the memory' 'load_weights' "$to/top"
	"$BUILD/gpushim-report" leaks "$snapshot" >"$to/leaks"
	is 'a leak is status 1' $? 1
	shows 'what grows' 'keeps growing' "$to/leaks"
	like 'which kernels were launched, and where' "$("$BUILD/gpushim-report" launch "$snapshot" | sed 's/+0x[0-9a-f]*//' | grep -E 'layer$|train_step in train$' | wc -l)" '^[2-9]'
	is 'what README.md shows of it is in the file' "$(block 'nobody frees it' | grep -vxFf "$TOP/tests/scripts/train.cu")" ''
else
	skip 'the program of README.md' 'no nvcc'
fi

sim demo "$BUILD/tests/preload/rt_demo"
"$BUILD/gpushim-report" sync "$snapshot" >"$to/sync"
shows 'where the host waits' 'read_loss' "$to/sync"

if [ "$(nproc)" -gt 1 ]; then
	GPUSHIM_ALLOC_CONF=graph:auto,submit_deadline_us:0 sim replay "$BUILD/tests/preload/rt_replay" constant
	"$BUILD/gpushim-report" graph "$snapshot" >"$to/graph"
	shows 'launches by graphs' 'went as nodes of graphs' "$to/graph"
else
	skip 'launches by graphs' 'one processor'
fi

block gpushim.h >"$to/peak.cpp"
ok 'the program that asks for figures is made' g++ -I"$TOP/shim" -I"$cuda/include" -o "$to/bin/peak" "$to/peak.cpp" -L"$BUILD/sim" -l:libcudart.so.13 -ldl
sim peak "$to/bin/peak"
is 'and gets them' "$(cat "$to/out")" 'at most 67108864 bytes were live'
is 'without gpushim it runs too' "$("$TOP/scripts/sim-run" --build "$BUILD" --no-shim "$to/bin/peak"; echo $?)" 0

measured=$(sed -n '/^## Measured/,/^## /p' "$TOP/README.md")
missing=''
for figure in $(sed '/^## Two commands/q' "$TOP/README.md" | grep -v CUDA | grep -oE '\b[0-9]+\.[0-9]+\b'); do
	grep -qF "$figure" <<<"$measured" || missing="$missing $figure"
done
is 'the figures of its first lines are those that were measured' "$missing" ''
done_testing
