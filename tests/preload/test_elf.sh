#!/bin/bash
# What the library asks of a process that it is preloaded into: as little as a library can.
. "$TOP/tests/lib/tap.sh"

library=$BUILD/libgpushim.so
dynamic=$(readelf -W -d "$library")
is 'needs libc alone' "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")" 'libc.so.6'
is 'defines no symbol versions' "$(readelf -W -V "$library" | grep -c '^Version definition')" 0
like 'thread-local storage is static' "$(grep '(FLAGS)' <<<"$dynamic")" 'STATIC_TLS'
like 'is never unloaded' "$(grep '(FLAGS_1)' <<<"$dynamic")" 'NODELETE'
is 'no text relocations' "$(grep -c 'TEXTREL' <<<"$dynamic")" 0
is 'no executable stack' "$(readelf -W -l "$library" | awk '$1 == "GNU_STACK" { print $7 }')" 'RW'
like 'has a build id' "$(readelf -W -n "$library")" 'Build ID: [0-9a-f]{40}'
bytes=$(($(readelf -W -l "$library" | awk '$1 == "TLS" { print $6 }')))
# Opened later, for its functions that PyTorch calls, it has to fit into the room that the loader spares: 1664 bytes.
ok "little of it: $bytes bytes" test "$bytes" -le 1664
is 'no CUDA symbol is undefined' "$(nm -D --undefined-only "$library" | grep -E ' (cu[A-Z]|cuda|__cuda|unw_)')" ''
is 'no export has a version' "$(nm -D --defined-only "$library" | grep -c '@')" 0
done_testing
