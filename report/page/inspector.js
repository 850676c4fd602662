"use strict";
/* What is selected: an allocation, a line, or else the picked moment. */

const STACK_MOST = 500; /* frames that are written */

class Inspector {
	/** @param {View} view @param {HTMLElement} box */
	constructor(view, box) {
		this.view = view;
		this.box = box;
		view.on(["history", "moment", "item", "line", "theme"], () => this.show());
	}

	show() {
		const { view } = this;

		if (view.item >= 0) Dom.fill(this.box, ...this.item(view.item));
		else if (view.line >= 0) Dom.fill(this.box, ...this.line(view.line));
		else Dom.fill(this.box, ...this.moment(view.moment));
	}

	head(kind, title, closes) {
		return Dom.make(
			"div",
			{ class: "head" },
			Dom.make("p", { class: "kind", text: kind }),
			Dom.make("h2", { class: "name", text: title }),
			closes
				? Dom.make("button", {
						type: "button",
						class: "round close",
						"aria-label": "Back to the moment",
						text: "\u00d7",
						on: { click: () => this.view.set({ item: -1, line: -1 }) },
					})
				: null,
		);
	}

	facts(pairs) {
		const list = Dom.make("dl", { class: "facts" });

		for (const [name, value] of pairs)
			list.append(Dom.make("dt", { text: name }), Dom.make("dd", { class: "name", text: value }));
		return list;
	}

	time(moment) {
		const { view } = this;
		const { events, header } = view.snapshot;

		if (events === 0) return "the end";
		return moment === 0 && !header.history_complete ? "the start of the history" : view.time_text(moment);
	}

	/** A stack, innermost first; frames that say little are folded. */
	stack(stack) {
		const { snapshot } = this.view;
		const frames = snapshot.frames_of(stack);
		const line = snapshot.stacks.line[stack];

		if (frames.length === 0)
			return Dom.empty(
				"No stack.",
				snapshot.meta.settings.stacks === "off"
					? "The program ran with `stacks:off`; `stacks:python+native`, the default, records them."
					: "None could be read here.",
			);
		return Dom.make(
			"ol",
			{ class: "stack" },
			...frames.slice(0, STACK_MOST).map((frame) =>
				Dom.make("li", {
					class:
						"name" +
						(frame === line ? " own" : "") +
						(snapshot.is_core(frame) ? " core" : ""),
					text: snapshot.place(frame),
				}),
			),
			frames.length > STACK_MOST
				? Dom.make("li", {
						class: "core",
						text: `${Format.count(frames.length - STACK_MOST)} more callers`,
					})
				: null,
		);
	}

	/* --- the three kinds --- */

	item(item) {
		const { view } = this;
		const { snapshot, history } = view;
		const { items, origins } = snapshot;
		const origin = items.origin[item];
		const stack = origins.stack[origin];
		const dead = items.died[item];
		const end_ns = dead === NEVER ? snapshot.elapsed_ns : snapshot.times[dead];
		const start_ns = snapshot.times[items.born[item]];
		const pending = dead !== NEVER && items.done[item] !== dead;

		return [
			this.head(
				snapshot.header.sorts[origins.sort[origin]] +
					" \u00b7 " +
					snapshot.texts[origins.category[origin]],
				Format.bytes(items.size[item]),
				true,
			),
			this.facts([
				["Allocated", this.time(items.born[item])],
				["Freed", dead === NEVER ? "still alive at the end" : this.time(dead)],
				[
					"Lived",
					(items.born[item] === 0 && !snapshot.header.history_complete
						? "at least "
						: "") + Format.duration(end_ns - start_ns),
				],
				...(pending
					? [
							[
								"Free for all",
								items.done[item] === NEVER
									? "still pending at the end"
									: Format.duration(
											snapshot.times[
												items.done[item]
											] - end_ns,
										) + " later",
							],
						]
					: []),
				[
					"Address",
					Format.address(items.address[item]) +
						" on " +
						snapshot.device(items.device[item]),
				],
				["Bytes", Format.count(items.size[item])],
				["Thread", snapshot.thread(origins.thread[origin])],
			]),
			Dom.make(
				"div",
				{ class: "actions" },
				Dom.make("button", {
					type: "button",
					text: "Pick out its line",
					on: {
						click: () =>
							view.set({ line: snapshot.line(stack), item: -1, search: "" }),
					},
				}),
				Dom.make("button", {
					type: "button",
					text: "Zoom to its life",
					on: { click: () => this.zoom(start_ns, end_ns) },
				}),
			),
			Dom.make("h3", { text: "Stack, innermost first" }),
			this.stack(stack),
		].concat(
			history.shown[item]
				? []
				: [Dom.make("p", { class: "note", text: "Not among what the timeline shows." })],
		);
	}

	zoom(start_ns, end_ns) {
		const room = Math.max((end_ns - start_ns) * 0.15, 1000);

		this.view.look(start_ns - room, end_ns + room);
	}

	line(line) {
		const { view } = this;
		const { snapshot, history } = view;
		const { origins } = snapshot;
		const bytes = Moment.by_origin(history, view.moment);
		const peaks = Moment.by_origin(history, history.peak);
		const mine = [];
		let [now, peak] = [0, 0];

		for (let origin = 0; origin < origins.count; origin++)
			if (snapshot.line(origins.stack[origin]) === line) {
				mine.push(origin);
				now += bytes[origin];
				peak += peaks[origin];
			}
		mine.sort((a, b) => bytes[b] - bytes[a] || peaks[b] - peaks[a]);
		const set = new Set(mine);
		const seen = new Set(mine.map((origin) => origins.stack[origin]));
		const largest = Moment.largest(history, view.moment, 5, (i) => set.has(snapshot.items.origin[i]));

		return [
			this.head("line", snapshot.texts[line], true),
			this.facts([
				[
					"At " + this.time(view.moment),
					Format.bytes(now) + " (" + Format.share(now, history.total[view.moment]) + ")",
				],
				[
					"At the peak",
					Format.bytes(peak) +
						" (" +
						Format.share(peak, history.total[history.peak]) +
						")",
				],
				["Stacks", Format.count(seen.size)],
			]),
			largest.length > 0 ? Dom.make("h3", { text: "Its largest allocations then" }) : null,
			largest.length > 0 ? this.list(largest) : null,
			Dom.make("h3", {
				text: seen.size > 1 ? "Its heaviest stack, innermost first" : "Stack, innermost first",
			}),
			this.stack(origins.stack[mine[0]]),
		];
	}

	moment(moment) {
		const { view } = this;
		const { history, snapshot } = view;
		const total = history.total[moment];
		const slots = Moment.by_slot(history, moment);
		const bands = history.ranking.names
			.map((name, band) => ({
				name,
				band,
				bytes: slots[band] + (slots[history.ranking.names.length + band] || 0),
			}))
			.filter((band) => band.bytes > 0)
			.sort((a, b) => b.bytes - a.bytes);
		const largest = Moment.largest(history, moment, 6);
		const lines = this.heaviest(moment, 10);

		return [
			this.head(
				moment === history.peak ? "moment \u00b7 the peak" : "moment",
				Format.bytes(total) + " at " + this.time(moment),
			),
			Dom.make(
				"ul",
				{ class: "bars" },
				...bands.map((band) =>
					Dom.make(
						"li",
						{},
						Dom.make("i", {
							style: `--color:${Palette.color(history.ranking.colors[band.band])};--part:${(100 * band.bytes) / total}%`,
						}),
						Dom.make("span", { class: "name", text: band.name, title: band.name }),
						Dom.make("span", { text: Format.bytes(band.bytes) }),
					),
				),
			),
			lines.length > 0 ? Dom.make("h3", { text: "Lines that hold most" }) : null,
			lines.length > 0
				? Dom.make(
						"ul",
						{ class: "list" },
						...lines.map((line) =>
							this.entry(
								line.band,
								line.bytes,
								snapshot.texts[line.line],
								() => view.set({ line: line.line, search: "" }),
							),
						),
					)
				: null,
			largest.length > 0 ? Dom.make("h3", { text: "Largest allocations" }) : null,
			largest.length > 0
				? this.list(largest)
				: Dom.empty(
						"Nothing was alive.",
						"Click the timeline to pick a moment, or press `p` for the peak.",
					),
			snapshot.events > 0
				? Dom.make("p", {
						class: "note",
						text: "Click the timeline for another moment and for the allocation at that place.",
					})
				: null,
		];
	}

	/** The lines that hold most. @returns {Array<{line: number, band: number, bytes: number}>} */
	heaviest(moment, most) {
		const { snapshot, history } = this.view;
		const lines = new Map();

		for (const [origin, bytes] of Moment.by_origin(history, moment).entries()) {
			const line = snapshot.line(snapshot.origins.stack[origin]);

			if (bytes === 0) continue;
			if (!lines.has(line))
				lines.set(line, { line, band: history.ranking.band_of[origin], bytes: 0 });
			lines.get(line).bytes += bytes;
		}
		return [...lines.values()].sort((a, b) => b.bytes - a.bytes).slice(0, most);
	}

	list(items) {
		const { snapshot, history } = this.view;

		return Dom.make(
			"ul",
			{ class: "list" },
			...items.map((item) => {
				const origin = snapshot.items.origin[item];

				return this.entry(
					history.ranking.band_of[origin],
					snapshot.items.size[item],
					snapshot.line_of(snapshot.origins.stack[origin]),
					() => this.view.set({ item, line: -1 }),
				);
			}),
		);
	}

	entry(band, bytes, name, on_click) {
		return Dom.make(
			"li",
			{},
			Dom.make(
				"button",
				{ type: "button", on: { click: on_click } },
				Dom.make("i", {
					class: "dot",
					style: "--color:" + Palette.color(this.view.history.ranking.colors[band]),
				}),
				Dom.make("span", { class: "size", text: Format.bytes(bytes) }),
				Dom.make("span", { class: "name", text: name, title: name }),
			),
		);
	}
}
