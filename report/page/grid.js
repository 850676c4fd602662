"use strict";
/* A table of figures that sorts by a click on a head. The last column is a name and takes the room that is left. */

class Grid {
	/**
	 * @param {HTMLElement} box
	 * @param {Array<{key: string, head: string, text: function(*): string, tip: ?string}>} columns the last one is the name
	 * @param {{caption: string, sort: string, most: number, on_row: ?function(*), mark: ?function(*): HTMLElement, chosen: ?function(*): boolean}} has
	 */
	constructor(box, columns, has) {
		this.box = box;
		this.columns = columns;
		this.has = has;
		this.sort = has.sort;
		this.down = true;
		this.all = false;
		this.rows = [];
	}

	/** @param {Array} rows objects with a value for each key */
	show(rows) {
		const scroll = this.box.scrollTop;
		const factor = this.down ? -1 : 1;

		this.rows = rows;
		const sorted = rows.slice().sort((a, b) => {
			const [left, right] = [a[this.sort], b[this.sort]];

			return factor * (typeof left === "string" ? left.localeCompare(right) : left - right);
		});
		const cut = this.all ? sorted : sorted.slice(0, this.has.most);
		const body = Dom.make("tbody");

		for (const row of cut) body.append(this.line(row));
		Dom.fill(
			this.box,
			Dom.make(
				"table",
				{},
				Dom.make("caption", { class: "unseen", text: this.has.caption }),
				this.heads(),
				body,
			),
			cut.length < sorted.length
				? Dom.make("button", {
						type: "button",
						class: "more",
						text: "Show all " + Format.count(sorted.length),
						on: {
							click: () => {
								this.all = true;
								this.show(this.rows);
							},
						},
					})
				: null,
		);
		this.box.scrollTop = scroll;
	}

	heads() {
		const row = Dom.make("tr");

		for (const column of this.columns) {
			const sorted = column.key === this.sort;

			row.append(
				Dom.make(
					"th",
					{
						scope: "col",
						"aria-sort": sorted ? (this.down ? "descending" : "ascending") : null,
						title: column.tip,
					},
					Dom.make("button", {
						type: "button",
						text: column.head,
						on: {
							click: () => {
								this.down = sorted
									? !this.down
									: column !== this.columns.at(-1);
								this.sort = column.key;
								this.show(this.rows);
								this.box.querySelector("th[aria-sort] button").focus();
							},
						},
					}),
				),
			);
		}
		return Dom.make("thead", {}, row);
	}

	line(row) {
		const { on_row, mark, chosen } = this.has;
		const cells = this.columns.map((column, i) => {
			if (i + 1 < this.columns.length) return Dom.make("td", { text: column.text(row) });
			const name = Dom.make(on_row ? "button" : "span", {
				class: "name",
				text: column.text(row),
				title: column.text(row),
				type: on_row ? "button" : null,
			});

			return Dom.make("td", {}, mark ? mark(row) : null, name);
		});

		return Dom.make(
			"tr",
			{
				"aria-selected": chosen && chosen(row) ? "true" : null,
				on: on_row ? { click: () => on_row(row) } : {},
			},
			...cells,
		);
	}
}
