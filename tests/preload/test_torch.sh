#!/bin/bash
# PyTorch without PyTorch: what torch:serve does to the environment, and what torch:observe hears from stand-ins of
# PyTorch's libraries.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/preload/compare.sh"

environment() { # environment NAME=VALUE..: PyTorch's settings as a child sees them
	env "$@" LD_PRELOAD="$BUILD/libgpushim.so" bash -c 'env' 2>&1 | grep -e PYTORCH -e '^gpushim' | sort
}
serve=GPUSHIM_ALLOC_CONF=torch:serve
is 'serve: adds the backend' "$(environment $serve)" 'PYTORCH_ALLOC_CONF=backend:cudaMallocAsync'
is 'serve: among other settings' "$(environment GPUSHIM_ALLOC_CONF=history:0,torch:serve,stacks:off)" \
	'PYTORCH_ALLOC_CONF=backend:cudaMallocAsync'
is 'serve: keeps what the user set' "$(environment $serve PYTORCH_ALLOC_CONF=max_split_size_mb:64)" \
	'PYTORCH_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:64'
is 'serve: under the older name' "$(environment $serve PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64)" \
	'PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:64'
is 'serve: an empty setting' "$(environment $serve PYTORCH_ALLOC_CONF=)" 'PYTORCH_ALLOC_CONF=backend:cudaMallocAsync'
is 'serve: a backend that the user chose stays' "$(environment $serve PYTORCH_ALLOC_CONF=backend:native)" \
	'PYTORCH_ALLOC_CONF=backend:native'
is 'serve: also under the older name' "$(environment $serve PYTORCH_CUDA_ALLOC_CONF=backend:native)" \
	'PYTORCH_CUDA_ALLOC_CONF=backend:native'
is 'serve: the newer name counts where both are set' \
	"$(environment $serve PYTORCH_ALLOC_CONF=backend:native PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64)" \
	'PYTORCH_ALLOC_CONF=backend:native
PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64'
is 'observe: nothing is set' "$(environment GPUSHIM_ALLOC_CONF=torch:observe)$(environment)" ''

tensors=("$programs/rt_tensors" "$programs/lib_c10.so" "$programs/lib_rt_c10_cuda.so")
same 'observe: the real function hears the same, freed segments go back (H29, H31)' "${tensors[@]}"
bytes=$(sed -n 's/ bytes live$//p' <<<"$output")
is 'observe: tensors are counted, live bytes equal' "$(snapshot live tensor)" "20 $bytes, 20 $bytes of 30"
is 'observe: the segment is a live block' "$(snapshot blocks)" '1 2097152'
is 'observe: nothing said' "$said" ''
GPUSHIM_ALLOC_CONF=torch:off same 'torch:off' "${tensors[@]}"
is 'torch:off: no tensor' "$(snapshot live tensor)" '0 0, 0 0 of 0'
is 'torch:off: no block of ours' "$(snapshot blocks)" '0 0'
done_testing
