"use strict";
/* The whole time in a strip, drawn by uPlot: what was alive and what was held. Its selection is the range that is looked at. */

class Overview {
	/** @param {View} view @param {HTMLElement} box */
	constructor(view, box) {
		this.view = view;
		this.box = box;
		this.plot = null;
		view.on(["history", "theme", "size"], () => this.draw());
		view.on(["range"], () => this.show_range());
	}

	/** @returns {Array<number[]>} times, bytes alive, bytes held; the highest moment of each piece */
	data() {
		const { view } = this;
		const { history } = view;
		const pieces = Math.max(64, Math.min(800, Math.round(this.box.clientWidth / 2)));
		const columns = [[], [], []];
		const [start, end] = view.whole;
		const bands = new Bands(history, view.whole, pieces);

		for (let x = 0; x < pieces; x++) {
			const moment = bands.moments[x];

			columns[0].push((start + ((x + 0.5) / pieces) * (end - start)) / 1e9);
			columns[1].push(moment < 0 ? null : history.total[moment]);
			columns[2].push(moment < 0 || !view.holding ? null : view.holding.held[moment]);
		}
		return columns;
	}

	draw() {
		const width = this.box.clientWidth;
		const height = 46;
		const fill = Palette.mix(Palette.rgb(Palette.color(0)), Palette.rgb(Palette.style("--card")), 0.55);

		if (this.plot) this.plot.destroy();
		this.plot = new uPlot(
			{
				width,
				height,
				pxAlign: 0,
				padding: [2, EDGE.right, 2, EDGE.left],
				legend: { show: false },
				scales: {
					x: { time: false, range: () => this.view.whole.map((time) => time / 1e9) },
					y: { range: (_, low, high) => [0, Math.max(1, high) * 1.05] },
				},
				axes: [{ show: false }, { show: false }],
				cursor: {
					y: false,
					points: { show: false },
					drag: { x: true, y: false, setScale: false },
				},
				series: [
					{},
					{
						stroke: Palette.color(0),
						fill: "rgb(" + fill + ")",
						width: 1,
						points: { show: false },
					},
					{ stroke: Palette.style("--held"), width: 1, points: { show: false } },
				],
				hooks: {
					setSelect: [(plot) => this.selected(plot)],
					ready: [(plot) => this.show_range(plot)],
				},
			},
			this.data(),
			this.box,
		);
		this.plot.root.setAttribute("aria-hidden", "true");
	}

	selected(plot) {
		const { left, width } = plot.select;

		if (this.showing) return;
		if (width < 3) this.view.look(...this.view.whole);
		else this.view.look(plot.posToVal(left, "x") * 1e9, plot.posToVal(left + width, "x") * 1e9);
		this.show_range();
	}

	show_range(plot = this.plot) {
		const { view } = this;

		if (!plot) return;
		const left = plot.valToPos(view.range[0] / 1e9, "x");
		const width = plot.valToPos(view.range[1] / 1e9, "x") - left;
		const whole = view.range[0] <= view.whole[0] && view.range[1] >= view.whole[1];

		this.showing = true;
		plot.setSelect(
			{ left, width: whole ? 0 : Math.max(2, width), top: 0, height: plot.over.clientHeight },
			false,
		);
		this.showing = false;
	}
}
