"use strict";
/* The page as somebody uses it: page.js FOLDER, where the pages are that test_page.sh made. Prints TAP. */
const { chromium } = require("playwright-core");
const path = require("node:path");

const folder = process.argv[2];
let count = 0;
let failed = 0;

function ok(good, name, why = "") {
	count++;
	console.log((good ? "" : "not ") + "ok " + count + " - " + name);
	if (!good) {
		failed++;
		for (const line of String(why).split("\n")) console.log("# " + line);
	}
}

function equal(got, wanted, name) {
	ok(
		JSON.stringify(got) === JSON.stringify(wanted),
		name,
		"got:    " + JSON.stringify(got) + "\nwanted: " + JSON.stringify(wanted),
	);
}

/** Opens a page and waits until it stands; what goes wrong in it is kept. */
async function open(browser, name, { width = 1280, height = 900, theme = "light" } = {}) {
	const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });

	page.wrong = [];
	page.on("console", (message) => page.wrong.push("console: " + message.text()));
	page.on("pageerror", (error) => page.wrong.push("error: " + error));
	page.on("request", (request) => {
		if (!request.url().startsWith("file:") && !request.url().startsWith("data:"))
			page.wrong.push("request: " + request.url());
	});
	await page.goto("file://" + path.join(folder, name + ".html"));
	await page.waitForSelector("html[data-ready]", { timeout: 60000 });
	await settle(page);
	return page;
}

/** Until what was changed has been drawn. */
function settle(page) {
	return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** The colour of a pixel of a canvas, at a point of its box. */
function pixel(page, selector, x, y) {
	return page.evaluate(
		([selector, x, y]) => {
			const canvas = document.querySelector(selector);
			const scale = canvas.width / canvas.clientWidth;
			const context = Object.assign(document.createElement("canvas"), {
				width: 1,
				height: 1,
			}).getContext("2d", { willReadFrequently: true });

			context.drawImage(canvas, -Math.round(x * scale), -Math.round(y * scale));
			return [...context.getImageData(0, 0, 1, 1).data];
		},
		[selector, x, y],
	);
}

/** Where a moment and an amount lie in the box of the timeline. */
function point(page, moment, bytes) {
	return page.evaluate(
		([moment, bytes]) => {
			const { timeline, view } = App;

			return [timeline.x_of(view.snapshot.times[moment]) + 1, timeline.y_of(bytes)];
		},
		[moment, bytes],
	);
}

function text(page, selector) {
	return page.locator(selector).innerText();
}

/** Elements whose text sticks out of them or that lie on each other. */
function overlaps(page) {
	return page.evaluate(() => {
		const wrong = [];

		for (const list of [
			".figures > div",
			".top > *",
			".head > *",
			".legend > *",
			".controls > *",
			"#lines thead th",
			".waits li > *",
		]) {
			const groups = new Map();

			for (const element of document.querySelectorAll(list)) {
				const box = element.getBoundingClientRect();

				if (box.width === 0) continue;
				groups.set(element.parentNode, [
					...(groups.get(element.parentNode) || []),
					[element, box],
				]);
			}
			for (const group of groups.values())
				for (const [i, [a, one]] of group.entries())
					for (const [b, two] of group.slice(i + 1))
						if (
							Math.min(one.right, two.right) - Math.max(one.left, two.left) >
								1 &&
							Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) >
								1
						)
							wrong.push(
								a.textContent.slice(0, 40) +
									" | " +
									b.textContent.slice(0, 40),
							);
		}
		if (document.documentElement.scrollWidth > innerWidth)
			wrong.push("wider than the window: " + document.documentElement.scrollWidth);
		return wrong;
	});
}

async function train(browser) {
	const page = await open(browser, "train");
	const box = await page.locator("#timeline").boundingBox();

	ok(
		(await text(page, "#command")) === "python train.py" &&
			(await page.title()).includes("python train.py"),
		"title",
	);
	ok((await text(page, "#figures")).includes("Alive at the peak"), "figures", await text(page, "#figures"));
	ok(
		(await text(page, "#legend")).match(/optimizer[\s\S]*parameters[\s\S]*activations/),
		"categories",
		await text(page, "#legend"),
	);

	const peak = await page.evaluate(() => App.view.history.peak);
	const bands = await page.evaluate(() => {
		const { history } = App.view;

		return history.ranking.names.map((name, band) => [name, Palette.color(history.ranking.colors[band])]);
	});
	const at = await point(page, peak, 40 << 20);
	const [red, green, blue] = await pixel(page, "#timeline_box .base", ...at);
	const first = bands[0][1].match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16));

	ok(
		Math.abs(red - first[0]) + Math.abs(green - first[1]) + Math.abs(blue - first[2]) < 90,
		"the lowest band has its colour: " + bands[0],
		[red, green, blue] + " for " + first,
	);
	equal(
		(await pixel(page, "#timeline_box .base", (await point(page, 0, 0))[0] + 4, 40)).at(3),
		0,
		"nothing is drawn above what was alive",
	);

	await page.mouse.click(box.x + at[0], box.y + at[1]);
	await settle(page);
	ok(
		(await text(page, "#inspector")).includes("adamw.py:243 in _init_group"),
		"a click tells the stack",
		await text(page, "#inspector"),
	);
	await page.keyboard.press("Escape");
	await settle(page);
	ok(
		(await text(page, "#inspector")).startsWith("moment"),
		"Escape ends the selection",
		await text(page, "#inspector"),
	);

	const whole = await page.evaluate(() => App.view.range[1] - App.view.range[0]);

	await page.mouse.move(box.x + 400, box.y + 100);
	ok((await text(page, "#tip")).includes("alive"), "a tip at the pointer");
	await page.mouse.down();
	await page.mouse.move(box.x + 500, box.y + 120, { steps: 4 });
	await page.mouse.up();
	await settle(page);
	const closer = await page.evaluate(() => App.view.range[1] - App.view.range[0]);
	ok(closer < whole / 3 && closer > whole / 12, "dragging zooms to the range", closer + " of " + whole);
	await page.mouse.dblclick(box.x + 300, box.y + 100);
	await settle(page);
	equal(
		await page.evaluate(() => App.view.range[1] - App.view.range[0]),
		whole,
		"a double click shows all again",
	);
	await page.locator("#timeline").focus();
	await page.mouse.move(box.x + 400, box.y + 100);
	await page.mouse.wheel(0, -300);
	await settle(page);
	ok(
		await page.evaluate((whole) => App.view.range[1] - App.view.range[0] < whole * 0.8, whole),
		"the wheel zooms",
	);
	for (const key of ["0", "w", "w", "d"]) await page.keyboard.press(key);
	await settle(page);
	const [from, to] = await page.evaluate(() => App.view.range);
	ok(from > 0 && Math.abs((to - from) / whole - 0.36) < 0.01, "keys zoom and move", [from, to, whole]);
	await page.keyboard.press("p");
	await page.keyboard.press("ArrowLeft");
	await settle(page);
	ok(await page.evaluate((peak) => App.view.moment < peak, peak), "an arrow picks the moment before");
	await page.keyboard.press("0");

	await page.keyboard.press("/");
	await page.keyboard.type("BLOCK.py");
	await settle(page);
	ok(
		(await text(page, "#found")).match(/places with .*block.py/),
		"a search tells what it found",
		await text(page, "#found"),
	);
	ok(
		await page.evaluate(() => App.view.history.lit.includes(1) && App.view.history.lit.includes(0)),
		"and picks it out",
	);
	ok(
		(await page.locator("#flame_box .found").count()) > 0 &&
			(await page.locator("#flame_box .dim").count()) > 0,
		"in the flame graph too",
	);
	await page.keyboard.press("Escape");
	await settle(page);
	ok(await page.locator("#found").isHidden(), "Escape ends it");

	const heads = page.locator("#lines thead button");
	const column = async (at) => page.locator(`#lines tbody td:nth-child(${at})`).allInnerTexts();
	const before = await column(6);

	await heads.nth(4).click();
	ok((await page.locator("#lines th[aria-sort]").innerText()).startsWith("Count"), "a head sorts");
	const counts = (await column(5)).map((cell) => Number(cell.replace(",", "")));
	ok(
		counts.every((value, i) => i === 0 || counts[i - 1] >= value),
		"down",
		counts,
	);
	await heads.nth(5).click();
	ok((await column(6)).join() !== before.join(), "by name too");
	await page.locator("#lines tbody tr", { hasText: "model.py:31" }).first().click();
	await settle(page);
	ok(
		(await text(page, "#inspector")).includes("model.py:31 in __init__"),
		"a line is picked out",
		await text(page, "#inspector"),
	);
	await page.keyboard.press("Escape");

	const deepest = page.locator("#flame_box .bar", { hasText: "adamw.py:243" }).first();
	await deepest.click();
	await settle(page);
	ok((await page.locator("#flame_box .above").count()) >= 3, "a frame fills the width, with its callers above");
	await page.keyboard.press("Backspace");
	await settle(page);
	equal(await page.locator("#flame_box .above").count(), 0, "Backspace goes back");
	await page.keyboard.press("ArrowDown");
	equal(
		await page.evaluate(() => document.activeElement.innerText),
		"train.py:12 in <module>",
		"an arrow goes to the callee",
	);

	ok(
		(await text(page, "#waits")).match(/avoidable[\s\S]*One value is read[\s\S]*Instead:/i),
		"waits",
		await text(page, "#waits"),
	);
	ok((await text(page, "#launches")).includes("fused_adam_kernel"), "launches", await text(page, "#launches"));
	await page.locator("#launches .choice button", { hasText: "By line" }).click();
	ok((await text(page, "#launches")).includes("net/block.py"), "launches by line", await text(page, "#launches"));
	ok(
		(await text(page, "#segments_note")).match(/held|in 1.segment/),
		"the allocator",
		await text(page, "#segments_note"),
	);
	const note = await text(page, "#segments_note");
	await page.locator("#timeline").hover({ position: { x: 120, y: 200 } });
	await settle(page);
	ok((await text(page, "#segments_note")) !== note, "its state follows the pointer");
	const hole = await page.evaluate(() => {
		const { owner, width } = App.segments;
		const at = owner.findIndex((one, i) => one === OWNER.hole && owner[i + 9] === OWNER.hole);

		return { x: (at % width) + 5, y: Math.floor(at / width) * (ROW.height + ROW.gap) + 8 };
	});

	await page.locator("#segments_map").hover({ position: hole });
	ok(
		/a hole of [\s\S]*before it: /.test(await text(page, "#tip")),
		"who lies beside a hole",
		await text(page, "#tip"),
	);
	await page.locator("#steps_long button", { hasText: "Step 12" }).click();
	await settle(page);
	ok(
		(await page.evaluate(() => {
			const { range, snapshot } = App.view;
			const step = snapshot.steps.find((one) => one.number === 12);

			return (
				range[0] < step.time_ns &&
				range[1] > step.time_ns + step.wall_ns &&
				range[1] - range[0] < step.wall_ns * 1.5
			);
		})) && (await text(page, "#steps")).includes("instead of"),
		"a long step: what differed, and where it is",
		await text(page, "#steps"),
	);
	equal(
		await page.evaluate(() => [
			Format.duration(999.96e6),
			Format.duration(599.96e9),
			Format.duration(7199.6e9),
			Format.duration(30 * 3600e9),
			Format.duration(50 * 3600e9),
			App.devices_text([{ name: "A" }, { name: "A" }, { name: "B" }]),
		]),
		["1.00\u00a0s", "10\u00a0min 0\u00a0s", "2\u00a0h 0\u00a0min", "30\u00a0h 0\u00a0min", "2\u00a0d 2\u00a0h", "2 \u00d7 A, B"],
		"long times, and many devices",
	);
	await page.locator("#steps .u-over").hover();
	ok(
		(await text(page, "#tip")).includes("of kernels on the device") &&
			(await text(page, "#steps_key")).includes("on the device, by samples"),
		"what a step took on the device",
		await text(page, "#tip"),
	);
	equal(
		await page.evaluate(() => {
			const { segments, view } = App;
			const { items, origins, piece } = view.snapshot;
			const wrong = [];

			for (let m = 0; m <= view.snapshot.events; m += 97) {
				const blocks = segments.blocks(m);
				const used = blocks.reduce((sum, block) => sum + segments.end_of(block) - items.address[block], 0);

				if (used > view.holding.held[m]) wrong.push([m, used, view.holding.held[m]]);
			}
			return wrong;
		}),
		[],
		"what is live and pending, rounded, is never more than what is held",
	);
	equal(await overlaps(page), [], "nothing lies on anything else");
	equal(page.wrong, [], "no error, no request");
	await page.close();
}

async function themes(browser) {
	for (const [theme, width] of [
		["light", 2560],
		["dark", 1280],
		["dark", 2560],
	]) {
		const page = await open(browser, "train", { theme, width, height: 1300 });
		const ground = () =>
			page.evaluate(
				() =>
					getComputedStyle(document.body)
						.backgroundColor.match(/\d+/g)
						.slice(0, 3)
						.map(Number)
						.reduce((a, b) => a + b) / 3,
			);

		ok(theme === "dark" ? (await ground()) < 60 : (await ground()) > 200, theme + " as the system has it");
		equal(await overlaps(page), [], theme + ", " + width + " wide: nothing lies on anything else");
		await page.keyboard.press("t");
		await settle(page);
		ok(theme === "dark" ? (await ground()) > 200 : (await ground()) < 60, "the key changes it");
		equal(page.wrong, [], "no error");
		await page.close();
	}
}

async function hostile(browser) {
	const page = await open(browser, "hostile");
	const lines = await page.locator("#lines tbody .name").allInnerTexts();

	equal(
		await page.evaluate(() => window.broken === undefined && document.querySelectorAll("img").length),
		0,
		"markup in names is text",
	);
	ok(
		lines.some((line) => line.includes("</script><script>window.broken")),
		"and is shown",
		lines.join("\n"),
	);
	ok(
		lines.some((line) => line.includes("\u{1f680} rocket")),
		"emoji",
	);
	ok(
		lines.some((line) => line.includes("\u05d0\u05d1\u05d2")) && !lines.join().includes("\u202e"),
		"text from right to left does not turn what is around it",
	);
	ok(
		lines.some((line) => line.includes("n".repeat(400))),
		"long names",
	);
	ok(
		lines.some((line) => line.includes("in __proto__")),
		"names that mean something to JavaScript",
	);
	await page.keyboard.press("/");
	await page.keyboard.type("</script>");
	await settle(page);
	ok(
		(await text(page, "#found")).includes("1\u00a0place") ||
			(await text(page, "#found")).includes("1 place"),
		"markup in the search",
		await text(page, "#found"),
	);
	equal(await overlaps(page), [], "nothing lies on anything else");
	equal(page.wrong, [], "no error, no request");
	await page.close();
}

async function empty(browser) {
	let page = await open(browser, "empty");

	ok(
		(await text(page, "#notes")).includes("GPUSHIM_ALLOC_CONF=history:100000"),
		"no history: how to get one",
		await text(page, "#notes"),
	);
	ok((await text(page, "#notes")).includes("stacks:off"), "no stacks");
	ok(
		(await text(page, "#waits")).includes("watch:off") &&
			(await text(page, "#launches")).includes("watch:off"),
		"no waits, no launches: why",
	);
	equal(page.wrong, [], "no error");
	await page.close();

	page = await open(browser, "bare");
	ok(
		(await text(page, "#notes")).includes("No history was kept"),
		"a real run without history",
		await text(page, "#notes"),
	);
	ok(
		(await text(page, "#figures")).includes("32.0"),
		"what was alive at the end is known",
		await text(page, "#figures"),
	);
	ok(
		!/Host waited|all there were/.test(await text(page, "#figures")),
		"what was neither watched nor kept is no figure",
		await text(page, "#figures"),
	);
	equal(page.wrong, [], "no error");
	await page.close();

	page = await open(browser, "late");
	ok(
		(await text(page, "#notes")).match(
			/Out of memory[\s\S]*train.py:120 in evaluate asked for 8.0.GiB[\s\S]*The history begins at/,
		),
		"memory ran out; the history begins late",
		await text(page, "#notes"),
	);
	let inked = 0;

	for (let x = 90; x < 120; x++) inked += (await pixel(page, "#timeline_box .base", x, 120))[3] > 0;
	ok(inked > 2 && inked < 25, "what was not recorded is hatched", inked);
	ok((await page.evaluate(() => App.timeline.bands.moments[0])) === -1, "nothing is shown for it");
	equal(page.wrong, [], "no error");
	await page.close();
}

async function demo(browser) {
	const page = await open(browser, "demo");

	ok(
		(await text(page, "#command")).includes("rt_demo") &&
			(await text(page, "#process")).includes("Simulated GPU"),
		"a preloaded run",
		await text(page, "#process"),
	);
	ok(
		(await text(page, "#lines")).includes("load_weights") &&
			(await text(page, "#lines")).includes("train_step"),
		"its lines",
		await text(page, "#lines"),
	);
	ok((await text(page, "#figures")).match(/peak\s*48.0.MiB/), "its peak", await text(page, "#figures"));
	ok((await text(page, "#waits")).includes("read_loss"), "its waits");
	await page.locator("#memory_controls select").first().selectOption({ label: "pinned host memory" });
	await settle(page);
	ok(/peak\s*8.0.MiB/.test(await text(page, "#figures")), "other memory", await text(page, "#figures"));
	await page.locator("#memory_controls select").first().selectOption({ index: 0 });
	await page.locator("#memory_controls select").last().selectOption("thread");
	await settle(page);
	ok(/rt_demo \(\d+\)/.test(await text(page, "#legend")), "coloured by thread", await text(page, "#legend"));
	await page.locator("#legend .chip").first().click();
	await settle(page);
	ok(/peak\s*0.B/.test(await text(page, "#figures")), "a band is hidden", await text(page, "#figures"));
	await page.locator("#legend .chip").first().click();
	await settle(page);
	ok(
		await page.evaluate(() => {
			const { holding, snapshot, history } = App.view;
			const { gauges } = snapshot.header.devices[0];
			const at_end = (values) => values[snapshot.events];

			return (
				at_end(holding.held) === gauges.reserved_bytes.now &&
				at_end(holding.pending) === gauges.pending_bytes.now &&
				at_end(history.total) === gauges.allocated_bytes.now
			);
		}),
		"what is alive and held at the end is what the allocator says",
	);
	equal(page.wrong, [], "no error, no request");
	await page.close();
}

async function imported(browser) {
	const page = await open(browser, "torch");

	ok(
		/peak\s*5.2.GiB/.test(await text(page, "#figures")) &&
			!/Host waited|Not in use/.test(await text(page, "#figures")),
		"a snapshot of PyTorch",
		await text(page, "#figures"),
	);
	ok(
		/live in 1\d\d.tensors/.test(await text(page, "#segments_note")),
		"its segments",
		await text(page, "#segments_note"),
	);
	ok((await text(page, "#waits")).includes("does not record them"), "what it has not");
	equal(page.wrong, [], "no error");
	await page.close();
}

async function big(browser) {
	const page = await open(browser, "big");
	const found = await page.evaluate(() => {
		const { view } = App;
		const { snapshot, history } = view;
		let wrong = 0;

		/* the levels of maxima against a plain search, checkpoints against a plain sum */
		for (let i = 0; i < 60; i++) {
			const first = Math.floor((snapshot.events * ((i * 37) % 61)) / 61);
			const last = Math.min(snapshot.events, first + ((i * i * 71) % 9000));
			let top = first;

			for (let moment = first; moment <= last; moment++)
				if (history.total[moment] > history.total[top]) top = moment;
			wrong += history.total[history.maxima.find(first, last)] !== history.total[top];
			const sum = Moment.by_slot(history, first).reduce((a, b) => a + b, 0);
			const alive = Moment.by_origin(history, first).reduce((a, b) => a + b, 0);

			wrong += sum !== history.total[first] || alive !== history.total[first];
		}
		return [snapshot.events > 50000, wrong];
	});

	equal(found, [true, 0], "many events: maxima, checkpoints and sums agree");
	await page.evaluate(() => {
		const { times, events } = App.view.snapshot;

		App.view.look(times[events >> 1], times[(events >> 1) + 200]);
	});
	await settle(page);
	ok(await page.evaluate(() => new Set(App.timeline.bands.moments).size > 5), "close up, single events are seen");
	equal(page.wrong, [], "no error");
	await page.close();
}

(async () => {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		args: ["--no-sandbox", "--disable-gpu"],
	});

	for (const part of [train, themes, hostile, empty, demo, imported, big])
		await part(browser).catch((error) => ok(false, part.name + " ends", error.stack));
	await browser.close();
	console.log("1.." + count);
	process.exit(failed > 0 ? 1 : 0);
})();
