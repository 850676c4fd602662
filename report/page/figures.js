"use strict";
/* What everybody wants to know first, in a row of figures; what went wrong or is missing, in notes above it. */

const Figures = {
	/** @param {View} view @param {HTMLElement} list */
	show(view, list) {
		const { snapshot, history, holding } = view;
		const { header, meta } = snapshot;
		const time = (moment) => view.time_text(moment);
		const device = header.devices.filter(
			(one) => history.choice.device < 0 || one.ordinal === history.choice.device,
		);
		const served = device.filter((one) => one.gauges && one.gauges.reserved_bytes?.peak > 0);
		const room = served.reduce((sum, one) => sum + one.total_bytes, 0);
		const held = holding.held[holding.peak];
		const end = snapshot.events;
		const unused = Math.max(0, held - Figures.used(holding, snapshot, holding.peak));
		const figures = [
			[
				"Alive at the peak",
				Format.bytes(history.total[history.peak]),
				end === 0 ? "at the end" : "at " + time(history.peak),
				() => view.set({ moment: history.peak, item: -1, line: -1 }),
			],
			[
				"Alive at the end",
				Format.bytes(history.total[end]),
				meta.reason === "exit" ? "when the program ended" : "when this was written",
				() => view.set({ moment: end, item: -1, line: -1 }),
			],
		];

		if (held > 0)
			figures.push([
				"Held at most",
				Format.bytes(held),
				room > 0 ? Format.share(held, room) + " of " + Format.bytes(room) : "by the allocator",
				() => view.set({ moment: holding.peak, item: -1, line: -1 }),
			]);
		if (held > 0 && snapshot.is_own)
			figures.push([
				"Not in use of that",
				Format.bytes(unused),
				Format.share(unused, held) +
					(holding.peak < end ? " of what was held at " + time(holding.peak) : " of what was held at the end"),
				() => view.set({ moment: holding.peak, item: -1, line: -1 }),
			]);
		if (!header.waits_missing)
			figures.push([
				"Host waited",
				Format.duration(header.waits_ns),
				Format.share(header.waits_ns, meta.elapsed_ns) +
					" of " +
					Format.duration(meta.elapsed_ns),
				() => Dom.get("waits").scrollIntoView({ behavior: "smooth" }),
			]);
		figures.push([
			"Events",
			header.history_kept ? Format.count(snapshot.events) : "\u2013",
			!header.history_kept
				? "none were kept"
				: header.recording.events_dropped > 0
					? Format.count(header.recording.events_dropped) + " older ones dropped"
					: "all there were",
			null,
		]);
		Dom.fill(
			list,
			...figures.map(([name, value, more, on_click]) =>
				Dom.make(
					"div",
					{},
					Dom.make("dt", { text: name }),
					Dom.make(
						"dd",
						{},
						on_click
							? Dom.make("button", {
									type: "button",
									text: value,
									on: { click: on_click },
								})
							: Dom.make("span", { text: value }),
						Dom.make("small", { text: more }),
					),
				),
			),
		);
	},

	/** Bytes of pieces that are live or pending. */
	used(holding, snapshot, moment) {
		const { items, origins, piece } = snapshot;
		let used = 0;

		for (let i = 0; i < items.count && items.born[i] <= moment; i++)
			if (items.done[i] > moment && origins.sort[items.origin[i]] === piece) used += items.size[i];
		return used;
	},

	/** @param {Snapshot} snapshot @param {HTMLElement} box */
	notes(snapshot, box) {
		const { header, meta, events } = snapshot;
		const dropped = header.recording.events_dropped;
		const notes = [];
		const oom = header.marks.filter((mark) => mark.kind === "oom").at(-1);

		for (const error of header.errors || [])
			notes.push([
				"bad",
				"The device's context broke.",
				Format.name(error.name) +
					", first returned by " +
					Format.name(error.function) +
					"; `gpushim-report summary` lists the launches that may be to blame.",
			]);
		if (oom)
			notes.push([
				"bad",
				"Out of memory.",
				snapshot.line_of(oom.stack) + " asked for " + Format.bytes(oom.size_bytes) + ".",
			]);
		if (!header.history_kept)
			notes.push([
				"",
				"No history was kept,",
				"so only what was alive at the end is known. Run with `GPUSHIM_ALLOC_CONF=history:100000` to see it over time.",
			]);
		else if (events === 0)
			notes.push(["", "Nothing happened:", "the program made no allocation that gpushim saw."]);
		else if (dropped > 0)
			notes.push([
				"",
				"The history begins at " +
					Format.moment(snapshot.start_ns, meta.elapsed_ns / 1000, meta.elapsed_ns) +
					".",
				Format.count(dropped) +
					" older events were dropped. Run with `GPUSHIM_ALLOC_CONF=history:" +
					100000 * Math.ceil((dropped + events) / 100000) +
					"` to keep them all.",
			]);
		if (meta.settings.stacks === "off")
			notes.push([
				"",
				"No stacks were recorded:",
				"the program ran with `stacks:off`. `stacks:python+native`, the default, says where memory comes from.",
			]);
		Dom.fill(
			box,
			...notes.map(([kind, what, why]) =>
				Dom.make(
					"p",
					{ class: "banner " + kind },
					Dom.make("strong", { text: what }),
					" ",
					...why
						.split("`")
						.map((piece, index) =>
							Dom.make(index % 2 ? "code" : "span", { text: piece }),
						),
				),
			),
		);
	},
};
