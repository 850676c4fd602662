"use strict";
/* Puts the page together. */

const App = {
	async start() {
		try {
			const container = await Container.unpack(Dom.get("data").textContent);

			Dom.get("data").remove();
			App.build(container);
		} catch (error) {
			Dom.get("loading").textContent =
				typeof DecompressionStream === "undefined"
					? "This browser is too old for the page: it needs Chrome 123, Firefox 120, Safari 17.5 or newer."
					: "The page cannot be shown: " + error.message;
			throw error;
		}
	},

	build(container) {
		const snapshot = new Snapshot(container);
		const choice = { sorts: snapshot.header.sorts_default, device: -1, by: App.by(snapshot) };
		const view = new View(snapshot, new History(snapshot, choice));

		App.view = view;
		view.meta = snapshot.meta;
		view.holding = new Holding(snapshot, choice.device);
		App.title(snapshot);
		Figures.notes(snapshot, Dom.get("notes"));
		Dom.get("loading").hidden = true;
		Dom.get("body").hidden = false;
		Theme.start(() => view.touch("theme"));
		App.controls(view);
		const timeline = (App.timeline = new Timeline(view, Dom.get("timeline_box")));

		new Overview(view, Dom.get("overview"));
		new Legend(view, Dom.get("legend"), timeline);
		App.segments = new Segments(view, Dom.get("segments_box"), Dom.get("segments_note"));
		new Steps(view, Dom.get("steps"), Dom.get("steps_box"));
		new Flame(view, Dom.get("flame_box"), Dom.get("flame_note"), Dom.get("flame_controls"));
		new Lines(view, Dom.get("lines_box"), Dom.get("lines_note"));
		new Waits(view, Dom.get("waits_box"), Dom.get("waits_note"));
		new Launches(
			view,
			container,
			Dom.get("launches_box"),
			Dom.get("launches_note"),
			Dom.get("launches_controls"),
		);
		new Inspector(view, Dom.get("inspector"));
		new Search(view, Dom.get("search"), Dom.get("found"));
		new Keys(view, Dom.get("keys"));
		view.on(["history"], () => App.figures(view));
		view.touch("history");
		view.touch("theme");
		view.flush();
		new ResizeObserver(() => App.resize(view)).observe(Dom.get("timeline_box"));
		document.documentElement.dataset.ready = "yes";
	},

	/* An observer also speaks when it begins, when all is drawn already. */
	resize(view) {
		const { width, height } = Dom.get("timeline_box").getBoundingClientRect();
		const size = `${width} ${height} ${devicePixelRatio}`;

		if (App.size !== undefined && App.size !== size) view.touch("size");
		App.size = size;
	},

	/** Bands by category, unless nearly all is "other". */
	by(snapshot) {
		const categories = new Set(Array.from(snapshot.origins.category, (text) => snapshot.texts[text]));

		categories.delete("other");
		return categories.size > 0 ? "category" : "line";
	},

	/* "8 \u00d7 NVIDIA H200" */
	devices_text(devices) {
		const counts = new Map();

		for (const { name } of devices) counts.set(name, (counts.get(name) || 0) + 1);
		return [...counts]
			.map(([name, count]) => (count > 1 ? count + " \u00d7 " : "") + Format.name(name))
			.join(", ");
	},

	title(snapshot) {
		const { meta, devices } = snapshot.header;
		const command =
			Format.name(meta.command.map((word) => word || "''").join(" ")) || Format.name(meta.executable);
		const written =
			new Date(Number(BigInt(meta.dump_wall_ns) / 1000000n))
				.toISOString()
				.slice(0, 19)
				.replace("T", " ") + " UTC";
		const used = devices.filter((device) => device.gauges);

		document.title = command.slice(0, 80) + " \u2013 gpushim";
		Dom.get("command").textContent = command;
		Dom.get("command").title = command;
		Dom.get("process").textContent = [
			meta.pid > 0
				? `process ${meta.pid}${meta.rank === null ? "" : ", rank " + meta.rank} on ${Format.name(meta.hostname)}`
				: "",
			App.devices_text(used),
			"written at " + Format.name(meta.reason) + ", " + written,
			"ran " + Format.duration(meta.elapsed_ns),
		]
			.filter((text) => text)
			.join(" \u00b7 ");
	},

	/** What the timeline shows, and by which colours. */
	controls(view) {
		const { snapshot } = view;
		const { sorts, sorts_default } = snapshot.header;
		const there = new Set(snapshot.origins.sort);
		const devices = [...new Set(snapshot.items.device)].sort((a, b) => a - b);
		const bit = (name) => 1 << sorts.indexOf(name);
		const names = {
			block: "device blocks",
			tensor: "tensors",
			driver: "served by the driver",
			host: "pinned host memory",
			managed: "managed memory",
			handle: "physical handles",
		};
		const kinds = [...there]
			.sort((a, b) => a - b)
			.map((sort) => [String(1 << sort), names[sorts[sort]] || sorts[sort]]);
		const boxes = [];

		if (sorts_default === (bit("block") | bit("driver")))
			kinds.unshift([
				String(sorts_default),
				there.has(sorts.indexOf("driver")) ? "device memory" : "device blocks",
			]);
		const unique = kinds.filter(([, text], i) => kinds.findIndex((kind) => kind[1] === text) === i);

		if (unique.length > 1)
			boxes.push(
				Dom.select("Show", unique, String(sorts_default), (value) =>
					App.choose({ sorts: Number(value) }),
				),
			);
		if (devices.length > 1)
			boxes.push(
				Dom.select(
					"On",
					[
						["-1", "all"],
						...devices.map((device) => [String(device), snapshot.device(device)]),
					],
					"-1",
					(value) => App.choose({ device: Number(value) }),
				),
			);
		boxes.push(
			Dom.select(
				"Colour by",
				[
					["category", "category"],
					["line", "line"],
					["thread", "thread"],
					["sort", "kind"],
				],
				view.history.choice.by,
				(value) => App.choose({ by: value }),
			),
		);
		boxes.push(
			Dom.make("button", {
				type: "button",
				text: "Whole time",
				on: { click: () => view.look(...view.whole) },
			}),
		);
		Dom.fill(Dom.get("memory_controls"), ...boxes);
	},

	/** @param {Object} change of the choice */
	choose(change) {
		const { view } = App;
		const choice = { ...view.history.choice, ...change };
		const lit = view.history.lit;
		const at_peak = view.moment === view.history.peak;

		view.history = new History(view.snapshot, choice);
		if (lit) view.history.light(lit);
		if (change.device !== undefined) view.holding = new Holding(view.snapshot, choice.device);
		view.set({ item: -1 });
		if (at_peak) view.set({ moment: view.history.peak });
		view.touch("history");
	},

	figures(view) {
		const { history } = view;

		Figures.show(view, Dom.get("figures"));
		Dom.get("memory_note").textContent = "peak " + Format.bytes(history.total[history.peak]);
	},
};

App.start();
