"use strict";
/* The bands by name, with what they hold at the moment that is shown. A click hides a band. */

class Legend {
	/** @param {View} view @param {HTMLElement} box @param {Timeline} timeline */
	constructor(view, box, timeline) {
		this.view = view;
		this.box = box;
		this.timeline = timeline;
		view.on(["history", "theme"], () => this.build());
		view.on(["moment", "hover"], () => this.fill());
	}

	build() {
		const { view } = this;
		const { ranking, hidden } = view.history;

		this.sizes = [];
		Dom.fill(
			this.box,
			...ranking.names.map((name, band) =>
				this.entry(name, Palette.color(ranking.colors[band]), !hidden.has(band), () => {
					const next = new Set(hidden);

					if (!next.delete(band)) next.add(band);
					view.history.hide(next);
					view.touch("history");
				}),
			),
			this.held(),
		);
		this.fill();
	}

	entry(name, color, on, on_click, line = false) {
		const size = Dom.make("span", { class: "size" });

		this.sizes.push(size);
		return Dom.make(
			"button",
			{
				type: "button",
				class: "chip",
				"aria-pressed": String(on),
				title: on ? "Hide" : "Show",
				on: { click: on_click },
			},
			Dom.make("i", { class: line ? "dash" : "dot", style: "--color:" + color }),
			Dom.make("span", { class: "name", text: name }),
			size,
		);
	}

	/** The line of what the allocator held. */
	held() {
		const { view, timeline } = this;

		if (!view.holding || view.holding.held[view.holding.peak] === 0) return null;
		return this.entry(
			"held by the allocator",
			"var(--held)",
			timeline.holding_shown,
			() => {
				timeline.holding_shown = !timeline.holding_shown;
				view.touch("history");
			},
			true,
		);
	}

	fill() {
		const { view } = this;
		const { history } = view;
		const slots = Moment.by_slot(history, view.shown);
		const bands = history.ranking.names.length;

		for (const [band, size] of this.sizes.entries())
			size.textContent = Format.bytes(
				band < bands ? slots[band] + (slots[bands + band] || 0) : view.holding.held[view.shown],
			);
	}
}
