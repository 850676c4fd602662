"use strict";
/* What was launched, by kernel or by line, and what launching cost the host. */

class Launches {
	/** @param {View} view @param {Container} container @param {HTMLElement} box @param {HTMLElement} note @param {HTMLElement} controls */
	constructor(view, container, box, note, controls) {
		this.view = view;
		this.box = box;
		this.note = note;
		this.by = "kernel";
		this.table = {};
		for (const key of ["name", "kind", "stack", "calls", "host_ns", "long_calls", "long_ns"])
			this.table[key] = container.column("kernel_" + key, Float64Array);
		if (this.table.name.length > 0)
			controls.append(
				Dom.choice(
					"By",
					[
						["kernel", "By kernel"],
						["line", "By line"],
					],
					this.by,
					(by) => {
						this.by = by;
						this.show();
					},
				),
			);
		this.grid = new Grid(
			box,
			[
				{ key: "host_ns", head: "Host time", text: (row) => Format.duration(row.host_ns) },
				{ key: "calls", head: "Calls", text: (row) => Format.count(row.calls) },
				{ key: "each_ns", head: "A call", text: (row) => Format.duration(row.each_ns) },
				{
					key: "long_calls",
					head: "Long",
					text: (row) => (row.long_calls > 0 ? Format.count(row.long_calls) : "\u2013"),
					tip: "Calls so long that they waited: the queue was full, or code was loaded",
				},
				{ key: "name", head: "What", text: (row) => row.name },
			],
			{ caption: "Launches", sort: "host_ns", most: 30 },
		);
		this.show();
	}

	show() {
		const { view, table } = this;
		const { snapshot } = view;
		const rows = new Map();
		const sum = { calls: 0, host_ns: 0 };

		for (let i = 0; i < table.name.length; i++) {
			const kind = snapshot.texts[table.kind[i]];
			const name =
				this.by === "line" ? snapshot.line_of(table.stack[i]) : snapshot.texts[table.name[i]];
			const row = rows.get(name) || {
				name: kind === "kernel" || this.by === "line" ? name : name + " (" + kind + ")",
				calls: 0,
				host_ns: 0,
				long_calls: 0,
			};

			rows.set(name, row);
			for (const key of ["calls", "host_ns", "long_calls"]) row[key] += table[key][i];
			row.each_ns = row.calls > 0 ? row.host_ns / row.calls : 0;
			sum.calls += table.calls[i];
			sum.host_ns += table.host_ns[i];
		}
		if (rows.size === 0) {
			Dom.fill(this.box, this.missing());
			return;
		}
		this.note.textContent =
			Format.count(sum.calls) +
			" launches, copies and memsets took the host " +
			Format.duration(sum.host_ns);
		this.grid.show([...rows.values()]);
	}

	missing() {
		const why = this.view.snapshot.header.launches_missing;

		if (why) return Dom.empty("Launches were not recorded.", Format.sentence(why) + ".");
		return Dom.empty("No launches.", "The program launched nothing on a device.");
	}
}
