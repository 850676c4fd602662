#!/bin/bash
# beside.sh LIBRARY PROGRAM: the program with another preloaded library before gpushim, then after it. A name without a
# slash is looked for.
. "${0%/*}/environment.sh"
library=$1 shim=${LD_PRELOAD-}
case $library in */*) ;; *) find_library "$library" && library=$found ;; esac
LD_PRELOAD=$library${shim:+ $shim} "$2" || exit
LD_PRELOAD=${shim:+$shim }$library "$2" || exit
