#!/bin/bash
# The page of gpushim-report html in real Chromium (page.js): snapshots of preloaded runs on the simulated GPU, and of programs
# that never were (scene.py).
. "$TOP/tests/lib/tap.sh"

node=$(command -v node || command -v nodejs)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
library=$TOP/build/node/node_modules/playwright-core
missing=
[ -n "$node" ] || missing="$missing nodejs"
[ -n "$browser" ] || missing="$missing chromium"
[ -d "$library" ] || missing="$missing playwright-core"
if [ -n "$missing" ]; then
	skip 'the page in a browser' "needs$missing: scripts/setup --tests installs what is missing"
	done_testing
	exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { # run NAME CONF: a preloaded run of the demo, and its page
	mkdir "$work/$1"
	GPUSHIM_ALLOC_CONF="snapshot_dir:$work/$1,log:error,$2" "$TOP/scripts/sim-run" --build "$BUILD" "$BUILD/tests/preload/rt_demo" >/dev/null &&
		"$BUILD/gpushim-report" html -o "$work/$1.html" "$work/$1"/gpushim.*.json
}
scene() { # scene NAME ARGUMENT..
	"$TOP/tests/page/scene.py" "$1" "$work/$1.json" "${@:2}" && "$BUILD/gpushim-report" html -o "$work/$1.html" "$work/$1.json"
}
for name in train hostile empty late; do
	scene $name || exit
done
"$BUILD/gpushim-report" export memory_viz -o "$work/torch.pickle" "$work/train.json" &&
	"$BUILD/gpushim-report" html -o "$work/torch.html" "$work/torch.pickle" || exit
scene big 60000 && run demo stacks:native && run bare history:0,stacks:off,watch:off || exit
NODE_PATH=${library%/*} CHROMIUM=$browser "$node" "$TOP/tests/page/page.js" "$work"
