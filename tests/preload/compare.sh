# Runs a program without and with the shim. For the tests of this folder: . "$TOP/tests/preload/compare.sh" after
# tap.sh.
# shellcheck shell=bash disable=SC2034

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
programs=$BUILD/tests/preload

sim() { # sim OPTION.. COMMAND..: in the scratch folder, with what it prints in out, on stderr in err, and its status
	rm -f "$folder"/gpushim.*
	(cd "$folder" && timeout 120 "$TOP/scripts/sim-run" --build "$BUILD" "$@" >out 2>err)
	status=$?
}

same() { # same NAME OPTION.. COMMAND..: prints and returns the same with the shim; $output and $said are from there
	local name=$1 plain plain_status
	shift
	sim --no-shim "$@"
	plain=$(cat "$folder/out") plain_status=$status
	sim "$@"
	output=$(cat "$folder/out")
	said=$(grep -v '^gpushim: snapshot written' "$folder/err")
	ok "$name" diff <(echo "$plain"; echo "status $plain_status") <(echo "$output"; echo "status $status")
}

snapshot() { # snapshot COMMAND [ARGUMENT..]: what snapshot.py prints about the exit snapshot
	local command=$1
	shift
	python3 "$TOP/tests/preload/snapshot.py" "$command" \
		"$(find "$folder" -name 'gpushim.*.json' ! -name '*.oom.json')" "$@"
}
