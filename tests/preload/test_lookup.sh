#!/bin/bash
# Look-ups mean what they mean without the shim: RTLD_NEXT, other libraries' names, dlerror, errno, scopes.
. "$TOP/tests/lib/tap.sh"

programs=$BUILD/tests/preload
shim=$BUILD/libgpushim.so
sim() { "$TOP/scripts/sim-run" --build "$BUILD" "$@" 2>&1; }

next=(timeout 20 "$programs/dl_next")
a=$programs/lib_next_a.so b=$programs/lib_next_b.so
plain=$(LD_PRELOAD="$a $b" "${next[@]}" 2>&1)
like 'RTLD_NEXT alone: a, then b' "$plain" 'trail a=b='
for order in "$shim $a $b" "$a $shim $b" "$a $b $shim"; do
	is "RTLD_NEXT with the shim (H25): ${order//$BUILD\//}" "$(LD_PRELOAD=$order "${next[@]}" 2>&1)" "$plain"
done

is 'scopes: 0, 1 and 0 interceptions' "$(sim "$programs/dl_scope" "$programs/lib_ask.so")" \
	'deepbind: libcuda.so.1
local: libgpushim.so
namespace: libcuda.so.1'

plain=$(sim --no-shim "$programs/dl_names" "$programs/lib_names.so")
guest=$(sim "$programs/dl_names" "$programs/lib_names.so")
is "other libraries' names, dlerror, errno" "$(sed '$d' <<<"$guest")" "$(sed '$d' <<<"$plain")"
is 'a name of the driver, afterwards' "$(tail -n 1 <<<"$guest")" \
	'cuInit: libgpushim.so, errno 77, no error, then no error'
like 'cuDNN finds its own' "$guest" 'cudnnCreate: lib_names.so, errno 77, no error'
like "a driver's name elsewhere stays there" "$guest" 'cuMemAlloc_v2: lib_names.so, errno 77, no error'
done_testing
