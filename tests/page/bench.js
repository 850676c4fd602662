"use strict";
/* How fast a page is: bench.js PAGE ROUNDS prints JSON: load_ms until everything is drawn, cpu_ms of the page's
 * thread for that, frame_ms and frame_most_ms while the
 * timeline moves; the least of the rounds. */
const { chromium } = require("playwright-core");

/** Moves the range through the whole time, frame by frame. */
function pan() {
	return new Promise((done) => {
		const { view } = App;
		const times = [];
		const step = () => {
			const from = performance.now();

			view.look((view.whole[1] * times.length) / 80, view.whole[1] * (times.length / 80 + 0.4));
			requestAnimationFrame(() =>
				setTimeout(() => {
					times.push(performance.now() - from);
					if (times.length < 40) step();
					else done(times.sort((a, b) => a - b));
				}),
			);
		};

		step();
	});
}

(async () => {
	const best = { load_ms: Infinity, cpu_ms: Infinity, frame_ms: Infinity, frame_most_ms: Infinity };

	for (let round = 0; round < Number(process.argv[3]); round++) {
		const browser = await chromium.launch({
			executablePath: process.env.CHROMIUM,
			args: ["--no-sandbox", "--disable-gpu"],
		});
		const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });

		const session = await page.context().newCDPSession(page);

		await session.send("Performance.enable", { timeDomain: "threadTicks" });
		await page.goto("file://" + process.argv[2]);
		await page.waitForSelector("html[data-ready]", { timeout: 120000 });
		const load = await page.evaluate(
			() =>
				new Promise((done) =>
					requestAnimationFrame(() => setTimeout(() => done(performance.now()))),
				),
		);
		const { metrics } = await session.send("Performance.getMetrics");
		const frames = await page.evaluate(pan);

		best.load_ms = Math.min(best.load_ms, load);
		best.cpu_ms = Math.min(best.cpu_ms, metrics.find((one) => one.name === "TaskDuration").value * 1000);
		best.frame_ms = Math.min(best.frame_ms, frames[frames.length >> 1]);
		best.frame_most_ms = Math.min(best.frame_most_ms, frames.at(-1));
		await browser.close();
	}
	console.log(JSON.stringify(best));
})();
