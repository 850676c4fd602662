"use strict";
/* The search by frame: what any frame of its stack matches is picked out, everywhere; so is the selected line. */

class Search {
	/** @param {View} view @param {HTMLInputElement} input @param {HTMLElement} found */
	constructor(view, input, found) {
		this.view = view;
		this.input = input;
		this.found = found;
		input.addEventListener("input", () => view.set({ search: input.value.trim().toLowerCase(), line: -1 }));
		view.on(["search", "line"], () => this.light());
		view.on(["history", "moment", "search", "line"], () => this.tell());
	}

	/** Origins whose stack has a matching frame. @param {function(number): boolean} fits of a frame @returns {Uint8Array} */
	origins(fits) {
		const { stacks, origins, frames } = this.view.snapshot;
		const by_frame = Uint8Array.from(frames.place, (_, frame) => (frame > 0 && fits(frame) ? 1 : 0));
		const by_stack = new Uint8Array(stacks.parent.length);

		for (let stack = 1; stack < by_stack.length; stack++)
			by_stack[stack] = by_stack[stacks.parent[stack]] | by_frame[stacks.frame[stack]];
		return Uint8Array.from(origins.stack, (stack) => by_stack[stack]);
	}

	light() {
		const { view } = this;
		const { snapshot } = view;
		let lit = null;

		if (view.line >= 0)
			lit = Uint8Array.from(snapshot.origins.stack, (stack) =>
				snapshot.line(stack) === view.line ? 1 : 0,
			);
		else if (view.search)
			lit = this.origins((frame) => snapshot.place(frame).toLowerCase().includes(view.search));
		if (this.input.value.trim().toLowerCase() !== view.search) this.input.value = view.search;
		view.history.light(lit);
		view.touch("history");
	}

	tell() {
		const { view } = this;
		const { history } = view;
		const lit = history.lit;

		this.found.hidden = !view.search;
		if (!view.search || !lit) return;
		const sum = (bytes) => bytes.reduce((all, value, origin) => all + (lit[origin] ? value : 0), 0);
		const places = lit.reduce((all, value) => all + value, 0);

		this.found.textContent =
			places === 0
				? "No allocation has a frame with \u201c" + view.search + "\u201d in its stack."
				: Format.some(places, "place") +
					" with \u201c" +
					view.search +
					"\u201d in the stack: " +
					Format.bytes(sum(Moment.by_origin(history, view.moment))) +
					" at the moment, " +
					Format.bytes(sum(Moment.by_origin(history, history.peak))) +
					" at the peak";
	}
}
