#!/bin/bash
# slow
# timeout 600
# A thread that waits for the device does not keep others from what they can do without us: they may be whom the device waits for.
. "$TOP/tests/lib/tap.sh"

folder=$(mktemp -d)
held=$BUILD/tests/preload/drv_held
sim() { # what is refused for lack of memory is said on stderr
	GPUSHIM_ALLOC_CONF=snapshot:off,$conf timeout 100 "$TOP/scripts/sim-run" --build "$BUILD" "$@" 2>/dev/null || echo "status $?"
}

waits() { # waits WAY CONF..: calls, of those in $calls if it is set, that wait under the shim alone
	local way=$1 conf='' plain
	shift
	# shellcheck disable=SC2086
	plain=$(sim --no-shim "$held" "$way" $calls | sort)
	for conf in "$@"; do
		# shellcheck disable=SC2086
		is "$way, ${conf:-as it is}: whoever does not wait without us" \
			"$(comm -13 <(echo "$plain") <(sim "$held" "$way" $calls | sort))" ''
	done
}

calls=
waits not '' backend:cudamalloc free_sync:never,purge_ms:1
waits synchronize '' submit:thread
waits free '' ipc:legacy
waits free-host ''
waits destroy '' ipc:legacy backend:cudamalloc
waits memory '' backend:cudamalloc
calls='info launch alloc alloc_large free_async host_alloc ipc ipc_open context_make context_end capture stream_make'
export SIM_SHARED=$folder/memory SIM_MEMORY=8G # of another process, too; 32 processes in all
waits close ''
rm -rf "$folder"
done_testing
