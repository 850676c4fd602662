"use strict";
/* The lines of code that memory comes from: how much each holds at the picked moment, at the peak and at the end, and what it asked
 * for in all. */

class Lines {
	/** @param {View} view @param {HTMLElement} box @param {HTMLElement} note */
	constructor(view, box, note) {
		this.view = view;
		this.note = note;
		this.box = box;
		const bytes = (key) => (row) => (row[key] > 0 ? Format.bytes(row[key]) : "\u2013");

		this.grid = new Grid(
			box,
			[
				{
					key: "moment",
					head: "Moment",
					text: bytes("moment"),
					tip: "Alive at the picked moment",
				},
				{
					key: "peak",
					head: "Peak",
					text: bytes("peak"),
					tip: "Alive when all together were largest",
				},
				{
					key: "end",
					head: "End",
					text: bytes("end"),
					tip: "Alive when the snapshot was written",
				},
				{ key: "total", head: "In all", text: bytes("total"), tip: "Allocated in the history" },
				{
					key: "count",
					head: "Count",
					text: (row) => Format.count(row.count),
					tip: "Allocations in the history",
				},
				{ key: "name", head: "Line", text: (row) => row.name },
			],
			{
				caption: "Memory by line",
				sort: "moment",
				most: 60,
				on_row: (row) =>
					view.set({
						line: view.line === row.line ? -1 : row.line,
						item: -1,
						search: "",
					}),
				mark: (row) =>
					Dom.make("i", {
						class: "dot",
						style:
							"--color:" +
							Palette.color(view.history.ranking.colors[row.band]),
					}),
				chosen: (row) => row.line === view.line,
			},
		);
		view.on(["history", "theme"], () => this.build());
		view.on(["moment"], () => this.show());
	}

	build() {
		const { history, snapshot } = this.view;
		const { items, origins } = snapshot;
		const ends = Moment.by_origin(history, snapshot.events);
		const peaks = Moment.by_origin(history, history.peak);
		const total = new Float64Array(origins.count);
		const count = new Uint32Array(origins.count);

		for (let i = 0; i < items.count; i++) {
			if (!history.shown[i]) continue;
			count[items.origin[i]]++;
			total[items.origin[i]] += items.size[i];
		}
		this.rows = new Map();
		for (let origin = 0; origin < origins.count; origin++) {
			const line = snapshot.line(origins.stack[origin]);

			if (count[origin] === 0) continue;
			if (!this.rows.has(line))
				this.rows.set(line, {
					line,
					name: snapshot.texts[line],
					moment: 0,
					peak: 0,
					end: 0,
					total: 0,
					count: 0,
					band: history.ranking.band_of[origin],
					most: -1,
				});
			const row = this.rows.get(line);

			if (total[origin] > row.most) {
				row.most = total[origin];
				row.band = history.ranking.band_of[origin];
			}
			row.peak += peaks[origin];
			row.end += ends[origin];
			row.total += total[origin];
			row.count += count[origin];
		}
		this.show();
	}

	show() {
		const { view, rows } = this;
		const { snapshot } = view;
		const bytes = Moment.by_origin(view.history, view.moment);

		for (const row of rows.values()) row.moment = 0;
		for (let origin = 0; origin < bytes.length; origin++)
			if (bytes[origin] > 0)
				rows.get(snapshot.line(snapshot.origins.stack[origin])).moment += bytes[origin];
		this.note.textContent = Format.some(rows.size, "line");
		if (rows.size === 0)
			Dom.fill(
				this.box,
				Dom.empty(
					"No allocations.",
					"The program allocated nothing of the kind that is chosen above.",
				),
			);
		else this.grid.show([...rows.values()]);
	}
}
