#!/bin/bash
# PyTorch without PyTorch: a program on the stand-in for its memory (tests/sim/torch) keeps books of its tensors, and
# what the shim saw of them must be the same: in both manglings of the report, with each of PyTorch's allocators, under
# each value of torch:.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

program=$BUILD/tests/sim/torch/rt_torch
phases=(train decode graph books foreign shortage empty books)
async=(train decode books foreign shortage empty books) # a capture there has graph memory in place of a private pool

report() { # report FILE WORD..: numbers of gpushim-report's summary of it of PyTorch
	"$BUILD/gpushim-report" summary --json "$folder"/gpushim.*"$1" | python3 -c '
import json, sys
torch = json.load(sys.stdin)["pytorch"] or {}
print(*[torch.get(word, "none") for word in sys.argv[1:]])' "${@:2}"
}

books() { # books NAME TABLE: the program's own books are what both snapshots have there
	local number
	for number in 1 2; do
		ok "$1: $2 table and the program's books agree, $number" diff "$folder/books.$number.sorted" \
			<(python3 "$TOP/tests/preload/snapshot.py" "$2" "$folder"/gpushim.*."$number.json")
	done
}

sum() { # sum FILE: lines and bytes of a book
	awk '{ lines++; bytes += $2 } END { print lines, bytes }' "$1"
}

none() { # none NAME: no tensor was noted
	is "$1: no tensors" "$(python3 "$TOP/tests/preload/snapshot.py" live "$folder"/gpushim.*.1.json tensor)" \
		'0 0, 0 0 of 0'
}

run() { # run NAME LIBRARY PHASE..
	same "$1: the program sees the same" --memory 512M "$program" "$BUILD/sim/$2/libc10_cuda.so" "${@:3}"
	for number in 1 2; do sort "$folder/books.$number" >"$folder/books.$number.sorted"; done
	like "$1: memory is right, and what is given back is free" "$output" 'empty: 7 tensors, the device holds the segments'
	is "$1: no word is wrong" "$(grep -c ' 0 words wrong' <<<"$output")" "$(grep -c 'words wrong' <<<"$output")"
}

for library in torch torch/signed; do
	run "native, $library" "$library" "${phases[@]}"
	books "native, $library" tensors
	like "native, $library: one message, when it was refused twice" "$said" '^[^
]*out of memory on device 0: asked 3.9 GiB[^
]*$'
	for number in 1 2; do
		is "native, $library: the report's sums, $number" "$(report ".$number.json" tensor_count tensor_bytes held_bytes)" \
			"$(sum "$folder/books.$number") $(cat "$folder/segments.$number")"
	done

	export PYTORCH_ALLOC_CONF=max_split_size_mb:2000,expandable_segments:True
	run "expandable, $library" "$library" "${phases[@]}"
	books "expandable, $library" tensors
	is "expandable, $library: nothing said" "$said" ''
	for number in 1 2; do
		is "expandable, $library: the report's sums, $number" "$(report ".$number.json" tensor_count tensor_bytes)" \
			"$(sum "$folder/books.$number")"
	done
	same "expandable, $library: more than there is" --memory 512M "$program" "$BUILD/sim/$library/libc10_cuda.so" brim
	like "expandable, $library: one message, when a handle was refused twice" "$said" '^[^
]*out of memory on device 0: asked 20[.]0 MiB[^
]*$'
	unset PYTORCH_ALLOC_CONF
done

for policy in in-order random starve; do
	same "native under $policy" --memory 512M --policy $policy "$program" "$BUILD/sim/torch/libc10_cuda.so" "${phases[@]}"
done

# What PyTorch gives back is back at once, not only when memory was short.
same 'native: a training, and then an empty cache' --memory 512M "$program" "$BUILD/sim/torch/libc10_cuda.so" train empty
like 'native: nothing is kept for another training' "$output" 'empty: 6 tensors, the device holds the segments'

export PYTORCH_ALLOC_CONF=backend:cudaMallocAsync
run 'cudaMallocAsync' torch "${async[@]}"
none 'cudaMallocAsync'
unset PYTORCH_ALLOC_CONF

# Only with the shim is the backend another one: its output has no counterpart.
export GPUSHIM_ALLOC_CONF=torch:serve
sim --memory 512M "$program" "$BUILD/sim/torch/libc10_cuda.so" "${async[@]}"
is 'serve: works' "$status:$(grep -c ' 0 words wrong' "$folder/out")" '0:3'
like 'serve: what is given back is free' "$(cat "$folder/out")" 'empty: 7 tensors, the device holds the segments'
none 'serve'
for number in 1 2; do
	sort "$folder/books.$number" >"$folder/books.$number.sorted"
	ok "serve: every tensor is a block of ours, $number" diff "$folder/books.$number.sorted" \
		<(python3 "$TOP/tests/preload/snapshot.py" block "$folder"/gpushim.*."$number.json" | grep -v ' 4$')
done

export GPUSHIM_ALLOC_CONF=torch:off
run 'off' torch "${phases[@]}"
none 'off'
is 'off: no block of ours but the error word' \
	"$(python3 "$TOP/tests/preload/snapshot.py" blocks "$folder"/gpushim.*.1.json)" '1 4'
done_testing
