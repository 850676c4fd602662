#!/bin/bash
# The house rules hold, and scripts/tidy notices an offence of each kind in a scratch tree.
. "$TOP/tests/lib/tap.sh"

ok 'this tree keeps the house rules' "$TOP/scripts/tidy"

tree=$(mktemp -d)

put() { # put FILE: a file of the scratch tree with the text of stdin
	mkdir -p "$tree/$(dirname "$1")"
	cat >"$tree/$1"
}

library() { # library CODE [FLAG..]: the scratch tree's libgpushim.so
	mkdir -p "$tree/build"
	gcc -shared -fPIC -x c -o "$tree/build/libgpushim.so" - "${@:2}" <<<"$1"
}

# --- a tree in which everything is as it should be

put shim/base/good.h <<<'/* Good. */
#include <stdint.h>
#include "shim/base/other.h"'
put shim/wrap/good.c <<<'/* Good: malloc(1) and cuInit(0) in a comment, // TO-DO */
#include <cuda.h>
#include "allocator/gsa.h"
#include "graph/gsg.h"
#include "report/schema.h"
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	text = "free(x), cuInit(0)"; /* printf("many
	lines") */
	ops->free(x), gs_on_cuMemFree(x), gs_driver.cuMemFree_v2(x), real->cudaFree(x), gsb_free(x);
}'
put allocator/good.c <<<'/* Good. */
#include "shim/base/log.h"
#include "allocator/gsa.h"'
put graph/good.c <<<'/* Good. */
#include "graph/gsg.h"'
put report/good.c <<<'/* Good. */
#include "shim/core/conf.h"
#include "report/schema.h"
int x = printf("fine here");'
put tests/good.c <<<'#include "shim/wrap/any.h"'
put shim/api/driver.def <<<'/* Table. */
#define DRV_TWIN(symbol, suffix) DRV(symbol, x) DRV(symbol##suffix, x)
DRV_TWIN(cuMemFree_v2, _ptsz)
#if CUDA_VERSION >= 13000
DRV(cuCtxGetDevice_v2, (int *x))
#endif'
seq 700 >>"$tree/shim/api/driver.def"
library 'int dlsym, dlvsym, gpushim_version, cuMemFree_v2, cuMemFree_v2_ptsz, cuCtxGetDevice_v2;
int _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;'

output=$("$TOP/scripts/tidy" "$tree" 2>&1)
is 'a clean tree' "$?:$output" 0:

# --- one offence of each kind, and what is said about it

wanted=()
offence() { # offence FILE SAID: the file has the text of stdin
	put "$1"
	wanted+=("$1$2")
}

offence shim/base/a.c ':2: arrow: shim/base must not include shim/core/conf.h' <<<'/* A. */
#include "shim/core/conf.h"'
offence allocator/a.c ':2: arrow: allocator must not include graph/gsg.h' <<<'/* A. */
 #  include "graph/gsg.h"'
offence allocator/a.h ':2: arrow: allocator must not include a CUDA header' <<<'/* A. */
#include <cuda.h>'
offence graph/a.c ':2: arrow: graph must not include shim/core/conf.h' <<<'/* A. */
#include "shim/core/conf.h"'
offence report/a.c ':2: arrow: report must not include shim/watch/event.h' <<<'/* A. */
#include "shim/watch/event.h"'
offence shim/wrap/a.c ':2: arrow: shim must not include tests/sim/sim.h' <<<'/* A. */
#include "tests/sim/sim.h"'
offence shim/wrap/b.c ':2: arrow: shim must not include good.h' <<<'/* B. */
#include "good.h"'

offence tests/a.c ': length: 601 lines, more than 600' < <(echo '/* A. */' && seq 600)
offence graph/a.h ': opening: does not begin with a comment that says what it is' <<<'#ifndef A'
for word in TO''DO FIX''ME X''XX; do
	offence "shim/wrap/$word.c" ':1: words: unfinished business' <<<"/* A. $word: later */"
done

for call in malloc calloc realloc free strdup printf snprintf vfprintf; do
	offence "allocator/$call.c" ":2: calls: the program's heap or stdio: $call()" <<<"/* A. */
	x = $call(y);"
done
offence shim/wrap/driver.c ':2: calls: past the real slots: cuMemFree_v2()' <<<'/* A. */
	if (cuMemFree_v2(p) != 0)'
offence shim/wrap/runtime.c ':2: calls: past the real slots: cudaFree ()' <<<'/* A. */
	return cudaFree (p);'

library 'int cuNobodyKnows;' -Wl,--no-as-needed -lm
wanted+=('build/libgpushim.so: exports: in no table: cuNobodyKnows' 'build/libgpushim.so: needs: libm.so.6')

output=$("$TOP/scripts/tidy" "$tree" 2>&1)
is 'offences: the status' $? 1
for line in "${wanted[@]}"; do
	ok "$line" grep -qxF -e "$line" <<<"$output"
done
is 'and nothing else is said' "$(wc -l <<<"$output")" ${#wanted[@]}

echo 'GPUSHIM_1 { global: *; };' >"$tree/version.map"
library 'int dlsym;' -Wl,--version-script="$tree/version.map"
like 'a version node' "$("$TOP/scripts/tidy" "$tree" 2>&1)" 'build/libgpushim.so: versions: it defines symbol versions'

rm -rf "$tree"
done_testing
