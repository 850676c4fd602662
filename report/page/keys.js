"use strict";
/* Keys that work everywhere on the page, and the list of all of them. */

class Keys {
	/** @param {View} view @param {HTMLDialogElement} dialog */
	constructor(view, dialog) {
		this.view = view;
		this.dialog = dialog;
		this.build();
		Dom.get("help").addEventListener("click", () => this.toggle());
		document.addEventListener("keydown", (event) => this.press(event));
	}

	static get list() {
		return [
			["W", "S", "closer, farther"],
			["A", "D", "earlier, later"],
			["0", "the whole time"],
			["P", "to the peak"],
			["E", "to the end"],
			["\u2190", "\u2192", "on the timeline: the moment before, after"],
			["Enter", "on the timeline: the largest allocation of the moment"],
			["1 \u2013 6", "to the timeline, allocator, flame graph, lines, waits, launches"],
			["\u2191", "\u2193", "in the flame graph: to the caller, to the largest callee"],
			["Backspace", "in the flame graph: back to the root"],
			["/", "search frames"],
			["Esc", "end the search, then the selection"],
			["T", "light or dark"],
			["?", "this list"],
			["Drag", "on the timeline: zoom to a range; with Shift: move"],
			["Wheel", "with Ctrl, or after a click on the timeline: zoom; with Shift: move"],
			["Double click", "on the timeline: the whole time"],
		];
	}

	build() {
		const list = Dom.make("dl", { class: "keys" });

		for (const entry of Keys.list) {
			list.append(
				Dom.make("dt", {}, ...entry.slice(0, -1).map((key) => Dom.make("kbd", { text: key }))),
				Dom.make("dd", { text: entry.at(-1) }),
			);
		}
		Dom.fill(
			this.dialog,
			Dom.make(
				"div",
				{ class: "head" },
				Dom.make("h2", { id: "keys_title", text: "Keys and pointer" }),
				Dom.make("button", {
					type: "button",
					class: "round close",
					"aria-label": "Close",
					text: "\u00d7",
					on: { click: () => this.dialog.close() },
				}),
			),
			list,
		);
		this.dialog.addEventListener("click", (event) => {
			if (event.target === this.dialog) this.dialog.close();
		});
	}

	toggle() {
		if (this.dialog.open) this.dialog.close();
		else this.dialog.showModal();
	}

	press(event) {
		const { view } = this;
		const typing = event.target.matches("input, select, textarea");

		if (event.key === "Escape" && !this.dialog.open) {
			if (view.search !== "") view.set({ search: "" });
			else view.set({ item: -1, line: -1 });
			if (typing) event.target.blur();
			return;
		}
		if (typing || event.ctrlKey || event.metaKey || event.altKey || (this.dialog.open && event.key !== "?"))
			return;
		const action = this.actions()[event.key.toLowerCase()];

		if (action) {
			event.preventDefault();
			action();
		}
	}

	actions() {
		const { view } = this;
		const middle = () => {
			const time_ns = view.snapshot.times[view.moment];
			const [start, end] = view.range;

			return time_ns >= start && time_ns <= end ? time_ns : (start + end) / 2;
		};
		const pick = (moment) => {
			view.set({ moment, item: -1, line: -1 });
			view.reveal(moment);
		};
		const go = (id, focus) => () => {
			Dom.get(id).scrollIntoView({ block: "nearest" });
			(document.querySelector(focus) || Dom.get(id)).focus({ preventScroll: true });
		};

		return {
			w: () => view.zoom(0.6, middle()),
			s: () => view.zoom(1 / 0.6, middle()),
			a: () => view.pan(-0.25),
			d: () => view.pan(0.25),
			0: () => view.look(...view.whole),
			p: () => pick(view.history.peak),
			e: () => pick(view.snapshot.events),
			1: go("memory", "#timeline"),
			2: go("segments", "#segments"),
			3: go("flame", "#flame_box .bar[tabindex='0']"),
			4: go("lines", "#lines th[aria-sort] button"),
			5: go("waits", "#waits"),
			6: go("launches", "#launches button"),
			"/": () => Dom.get("search").focus(),
			t: () => Theme.toggle(),
			"?": () => this.toggle(),
		};
	}
}
