#!/bin/bash
# What torch:serve does to the environment of PyTorch. What it does to PyTorch: tests/sim/test_torch_sim.sh.
. "$TOP/tests/lib/tap.sh"

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
done_testing
