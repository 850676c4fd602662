#!/bin/bash
# shells.sh PROGRAM: from shells in shells, behind a pipe, in the background, by exec and by env; every shell and tool on the
# way is preloaded, too. Statuses come through.
. "${0%/*}/environment.sh"
bash -c 'bash -c "sh -c \"$0\""' "$1" || exit
bash -c 'set -o pipefail; "$0" | cat | grep ok' "$1" || exit
bash -c '"$0" & wait $!' "$1" || exit
bash -c 'exec env MORE=1 nice "$0"' "$1" || exit
bash -c '(exit 5); echo "ok status $?"'
bash -c 'kill -TERM $$'
echo "ok status $?"
find "$1" -exec {} \; | sort | head -n 1
