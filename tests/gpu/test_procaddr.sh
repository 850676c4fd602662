#!/bin/bash
# timeout 60
# Every typed function of the toolkit, asked for through cuGetProcAddress and dlsym on the simulated driver: the shim
# gives both the same address, and the same function, name by name, as the driver does.
set -u
procaddr=$BUILD/gpu/procaddr
plain=${TMPDIR:-/tmp}/plain shim=${TMPDIR:-/tmp}/shim

echo 1..2
"$TOP/scripts/sim-run" --no-shim --build "$BUILD" "$procaddr" >"$plain" &&
	! grep -q -e ' -$' -e ' none$' "$plain" && echo "ok 1 - the driver" || echo "not ok 1 - the driver"
"$TOP/scripts/sim-run" --build "$BUILD" "$procaddr" >"$shim"
if diff "$plain" "$shim" | head -n 20 | sed 's/^/# /' | grep .; then
	echo "not ok 2 - the shim"
else
	echo "ok 2 - the shim"
fi
