# TAP for shell tests: . "$TOP/tests/lib/tap.sh", then ok, is, like and skip, and done_testing at the end.
# shellcheck shell=bash

tap_count=0

tap_result() { # tap_result STATUS NAME TEXT: one line, and TEXT as comment when it failed
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
	else
		echo "not ok $tap_count - $2"
		printf '%s\n' "$3" | sed 's/^/# /'
	fi
}

ok() { # ok NAME COMMAND..: the command succeeds
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	tap_result $status "$name" "status $status of: $*
$output"
}

is() { # is NAME GOT WANTED
	local status=0
	[ "$2" = "$3" ] || status=1
	tap_result $status "$1" "got:    $2
wanted: $3"
}

like() { # like NAME GOT REGEX: an extended regular expression matches somewhere
	local status=0
	[[ $2 =~ $3 ]] || status=1
	tap_result $status "$1" "got:    $2
wanted: $3"
}

skip() { # skip NAME WHY
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

done_testing() {
	echo "1..$tap_count"
}
