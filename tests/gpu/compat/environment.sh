# For the scripts of this folder: one word where something is missing.
# shellcheck shell=bash

absent() { # absent WORD
	echo "absent $1"
	exit 77
}

need_command() { # need_command NAME: on the PATH, or where CUDA puts it; its path is in $found
	local folder
	found=$(command -v "$1") && return
	for folder in "${CUDA_HOME:-/usr/local/cuda}"/bin "${CUDA_HOME:-/usr/local/cuda}"/compute-sanitizer /opt/nvidia/nsight-compute/*; do
		found=$folder/$1
		[ -x "$found" ] && return
	done
	absent "$1"
}

find_library() { # find_library NAME: its path is in $found
	local folder
	found=$(ldconfig -p 2>/dev/null | sed -n "s|.*$1 .*=> ||p" | head -n 1)
	[ -n "$found" ] && return
	for folder in ${LD_LIBRARY_PATH//:/ } /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/lib; do
		found=$folder/$1
		[ -e "$found" ] && return
	done
	absent "${1%%.*}"
}
