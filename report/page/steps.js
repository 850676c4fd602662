"use strict";
/* The steps of the program's main loop as bars, drawn by uPlot: how long each took, and where the host spent that time. */

class Steps {
	static get parts() {
		return [
			["launch", "launching", 0],
			["queue", "waiting for room in the queue", 4],
			["wait", "waiting for the device", 5],
			["memory", "slow calls for memory", 1],
			["load", "loading code", 3],
		];
	}

	/** @param {View} view @param {HTMLElement} card @param {HTMLElement} box */
	constructor(view, card, box) {
		this.view = view;
		this.box = box;
		this.plot = null;
		card.hidden = view.snapshot.steps.length === 0;
		if (card.hidden) return;
		this.tell();
		view.on(["theme", "size"], () => this.draw());
	}

	/* What is known of the loop, and of steps that took long. */
	tell() {
		const { loop } = this.view.snapshot;

		Dom.get("steps_note").textContent =
			`${Format.count(loop.steps)} of ${Format.duration(loop.median_ns)} (median), 99 of 100 within ` +
			`${Format.duration(loop.p99_ns)}; ${Format.name(loop.begins)}`;
		Dom.fill(
			Dom.get("steps_long"),
			...loop.long.slice(0, 5).map((step) =>
				Dom.make(
					"li",
					{},
					Dom.make("button", {
						type: "button",
						text: "Step " + Format.count(step.number),
						on: { click: () => this.look(step.number) },
					}),
					Dom.make("strong", { text: Format.duration(step.wall_ns) }),
					Dom.make("span", { class: "name", text: Format.name(step.differs) }),
				),
			),
		);
	}

	/** The timeline shows a step. @param {number} number */
	look(number) {
		const step = this.view.snapshot.steps.find((one) => one.number === number);

		if (step) this.view.look(step.time_ns - step.wall_ns * 0.1, step.time_ns + step.wall_ns * 1.1);
	}

	/** Whether the time on devices is known: the program ran with device_time. */
	get is_sampled() {
		return this.view.snapshot.steps.some((step) => step.device > 0);
	}

	/** Places in the row, then for each part the time up to its upper edge, then all of it; ms. */
	data() {
		const { steps } = this.view.snapshot;
		const columns = [steps.map((_, i) => i)];
		const sums = new Float64Array(steps.length);

		for (const [key] of Steps.parts)
			columns.push(steps.map((step, i) => Math.min(step.wall_ns, (sums[i] += step[key])) / 1e6));
		columns.push(steps.map((step) => step.wall_ns / 1e6));
		return columns;
	}

	draw() {
		const data = this.data();
		const used = Steps.parts.filter(([key]) => this.view.snapshot.steps.some((step) => step[key] > 0));
		const order = Steps.parts.map((_, i) => i).reverse();
		const bars = uPlot.paths.bars({ size: [0.8, 40], align: 0 });
		const bar = (color) => ({ fill: color, stroke: color, width: 0, paths: bars, points: { show: false } });
		const ink = Palette.style("--ink");
		const dots = { paths: () => null, points: { show: true, size: 6, fill: ink, stroke: ink } };
		const device = this.view.snapshot.steps.map((step) => (step.device > 0 ? step.device / 1e6 : null));
		const axis = {
			stroke: Palette.style("--soft"),
			grid: { stroke: Palette.style("--grid"), width: 1 },
			ticks: { show: false },
		};
		const font = "11.5px " + getComputedStyle(document.body).fontFamily;

		if (this.plot) this.plot.destroy();
		this.plot = new uPlot(
			{
				width: this.box.clientWidth,
				height: 150,
				padding: [8, EDGE.right, 0, 0],
				legend: { show: false },
				cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
				scales: {
					x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] },
					y: { range: (_, low, high) => [0, high * 1.05] },
				},
				axes: [
					{
						...axis,
						font,
						grid: { show: false },
						size: 24,
						incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
						values: (_, values) =>
							values.map((at) => this.view.snapshot.steps[at]?.number ?? ""),
					},
					{
						...axis,
						font,
						size: EDGE.left,
						values: (_, values) =>
							values.map((value) =>
								Format.duration(value * 1e6).replace(
									/\.0+(?=\u00a0)/,
									"",
								),
							),
					},
				],
				/* the tallest first, so that lower ones cover it */
				series: [
					{},
					bar(Palette.style("--block")),
					...order.map((part) => bar(Palette.color(Steps.parts[part][2]))),
					...(this.is_sampled ? [dots] : []),
				],
			},
			[data[0], data.at(-1), ...order.map((part) => data[part + 1]), ...(this.is_sampled ? [device] : [])],
			this.box,
		);
		/* after uPlot, which finds the step by the mouse */
		this.plot.over.addEventListener("mousemove", (event) => Dom.tip(event, this.lines()));
		this.plot.over.addEventListener("pointerleave", () => Dom.tip(null));
		this.plot.over.addEventListener("click", () => {
			const step = this.view.snapshot.steps[this.plot.cursor.idx];

			if (step) this.look(step.number);
		});
		this.plot.root.setAttribute("aria-hidden", "true");
		Dom.fill(
			Dom.get("steps_key"),
			...[
				...used,
				["rest", "the rest", "var(--block)"],
				...(this.is_sampled ? [["device", "its kernels on the device, by samples", "var(--ink)"]] : []),
			].map(([, text, color]) =>
				Dom.make(
					"span",
					{},
					Dom.make("i", {
						class: "dot",
						style: "--color:" + (typeof color === "string" ? color : Palette.color(color)),
					}),
					text,
				),
			),
		);
	}

	/* The step under the pointer. */
	lines() {
		const step = this.view.snapshot.steps[this.plot.cursor.idx];

		if (!step) return undefined;
		return [
			`step ${Format.count(step.number)} \u00b7 ${Format.duration(step.wall_ns)} \u00b7 ${Format.some(step.launches, "launch", "launches")}`,
			...Steps.parts
				.filter(([key]) => step[key] > 0)
				.map(([key, text]) => `${Format.duration(step[key])} ${text}`),
			...(step.device > 0 ? [`${Format.duration(step.device)} of kernels on the device, by samples`] : []),
		];
	}
}
