#!/bin/bash
# The house rules hold, and scripts/tidy notices an offence of each kind.
. "$TOP/tests/lib/tap.sh"

ok 'this tree keeps the house rules' "$TOP/scripts/tidy"

tree=$(mktemp -d)

put() { # put FILE: a file of the scratch tree with the text of stdin
	mkdir -p "$tree/$(dirname "$1")"
	cat >"$tree/$1"
}

fresh() {
	rm -rf "${tree:?}"/*
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
}

library() { # library CODE [FLAG..]: the scratch tree's libgpushim.so
	mkdir -p "$tree/build"
	gcc -shared -fPIC -x c -o "$tree/build/libgpushim.so" - "${@:2}" <<<"$1"
}

catches() { # catches NAME WANTED: exactly this line
	local output status
	output=$("$TOP/scripts/tidy" "$tree" 2>&1)
	status=$?
	is "$1" "$status:$output" "1:$2"
	fresh
}

fresh
library 'int dlsym, dlvsym, gpushim_version, cuMemFree_v2, cuMemFree_v2_ptsz, cuCtxGetDevice_v2;
int _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;'
is 'a clean tree' "$("$TOP/scripts/tidy" "$tree" 2>&1; echo $?)" 0
fresh

put shim/base/a.c <<<'/* A. */
#include "shim/core/conf.h"'
catches 'base includes nothing of ours' 'shim/base/a.c:2: arrow: shim/base must not include shim/core/conf.h'
put allocator/a.c <<<'/* A. */
 #  include "graph/gsg.h"'
catches 'allocator looks only at base' 'allocator/a.c:2: arrow: allocator must not include graph/gsg.h'
put allocator/a.h <<<'/* A. */
#include <cuda.h>'
catches 'allocator sees no CUDA' 'allocator/a.h:2: arrow: allocator must not include a CUDA header'
put graph/a.c <<<'/* A. */
#include "shim/core/conf.h"'
catches 'graph looks only at base' 'graph/a.c:2: arrow: graph must not include shim/core/conf.h'
put report/a.c <<<'/* A. */
#include "shim/watch/event.h"'
catches 'report looks at base and conf.h' 'report/a.c:2: arrow: report must not include shim/watch/event.h'
put shim/wrap/a.c <<<'/* A. */
#include "tests/sim/sim.h"'
catches 'nobody includes tests' 'shim/wrap/a.c:2: arrow: shim must not include tests/sim/sim.h'
put shim/wrap/a.c <<<'/* A. */
#include "good.h"'
catches 'includes start at the root' 'shim/wrap/a.c:2: arrow: shim must not include good.h'

{ echo '/* A. */' && seq 600; } | put tests/a.c
catches 'a long file' 'tests/a.c: length: 601 lines, more than 600'
put graph/a.h <<<'#ifndef A'
catches 'a file that does not say what it is' 'graph/a.h: opening: does not begin with a comment that says what it is'
for word in TO''DO FIX''ME X''XX; do
	put shim/wrap/a.c <<<"/* A. $word: later */"
	catches "unfinished business: $word" 'shim/wrap/a.c:1: words: unfinished business'
done

for call in malloc calloc realloc free strdup printf snprintf vfprintf; do
	put allocator/a.c <<<"/* A. */
	x = $call(y);"
	catches "a call of $call" "allocator/a.c:2: calls: the program's heap or stdio: $call()"
done
put shim/wrap/a.c <<<'/* A. */
	if (cuMemFree_v2(p) != 0)'
catches 'a driver call past the slots' 'shim/wrap/a.c:2: calls: past the real slots: cuMemFree_v2()'
put shim/wrap/a.c <<<'/* A. */
	return cudaFree (p);'
catches 'a runtime call past the slots' 'shim/wrap/a.c:2: calls: past the real slots: cudaFree ()'

library 'int cuNobodyKnows;'
catches 'an export that is in no table' 'build/libgpushim.so: exports: in no table: cuNobodyKnows'
library 'int dlsym;' -Wl,--no-as-needed -lm
catches 'a library needed' 'build/libgpushim.so: needs: libm.so.6'
echo 'GPUSHIM_1 { global: *; };' >"$tree/v.map"
library 'int dlsym;' -Wl,--version-script="$tree/v.map"
rm "$tree/v.map"
output=$("$TOP/scripts/tidy" "$tree" 2>&1)
like 'a version node' "$output" 'build/libgpushim.so: versions: it defines symbol versions'

rm -rf "$tree"
done_testing
