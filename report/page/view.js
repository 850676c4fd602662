"use strict";
/* What the reader looks at: the range of time, the moment under the pointer, the one that was picked, the selection. Everything
 * that draws listens here and draws at most once a frame. */

class View {
	/** @param {Snapshot} snapshot @param {History} history */
	constructor(snapshot, history) {
		this.snapshot = snapshot;
		this.history = history;
		this.whole = View.whole_of(snapshot);
		this.range = this.whole.slice();
		this.moment = history.peak; /* picked */
		this.hover = -1; /* under the pointer; -1 = none */
		this.item = -1; /* selected */
		this.line = -1; /* selected: as Snapshot.line */
		this.search = "";
		this.listeners = [];
		this.changed = new Set();
	}

	/* All time; of a long run whose early history is gone, what is left of it and somewhat before. */
	static whole_of(snapshot) {
		const end = Math.max(snapshot.elapsed_ns, 1);
		const start = snapshot.header.history_complete || snapshot.events === 0 ? 0 : snapshot.start_ns;

		return [Math.max(0, start - (end - start) * 0.18), end];
	}

	/** The moment to show: under the pointer, else the picked one. @returns {number} */
	get shown() {
		return this.hover >= 0 ? this.hover : this.moment;
	}

	/**
	 * @param {string[]} names of what it depends on: range, moment, hover, item, line, search, history, theme, size
	 * @param {function()} listener
	 */
	on(names, listener) {
		this.listeners.push({ names, listener });
	}

	/** Changes some of it. @param {Object} changes */
	set(changes) {
		for (const [name, value] of Object.entries(changes)) {
			if (name in this && this[name] === value) continue;
			this[name] = value;
			this.touch(name);
		}
	}

	/** Says that something has changed. @param {string} name */
	touch(name) {
		if (this.changed.size === 0) requestAnimationFrame(() => this.flush());
		this.changed.add(name);
	}

	flush() {
		const changed = this.changed;

		this.changed = new Set();
		for (const { names, listener } of this.listeners)
			if (names.some((name) => changed.has(name))) listener();
	}

	/** The range, kept within the whole and above the length where nothing more can be seen. */
	look(start, end) {
		const [first, last] = this.whole;
		const length = Math.min(Math.max(end - start, 1000), last - first);
		const from = Math.min(Math.max(start, first), last - length);

		this.set({ range: [from, from + length] });
	}

	/** @param {number} factor below 1: closer @param {number} time_ns what stays where it is */
	zoom(factor, time_ns) {
		const [start, end] = this.range;

		this.look(time_ns - (time_ns - start) * factor, time_ns + (end - time_ns) * factor);
	}

	/** @param {number} part of the range; negative: earlier */
	pan(part) {
		const [start, end] = this.range;

		this.look(start + (end - start) * part, end + (end - start) * part);
	}

	/** The time of a moment, as exact as the whole is worth. @param {number} moment @returns {string} */
	time_text(moment) {
		return Format.moment(
			this.snapshot.times[moment],
			(this.whole[1] - this.whole[0]) / 2000,
			this.whole[1],
		);
	}

	/** Brings a moment into the range. @param {number} moment */
	reveal(moment) {
		const time_ns = this.snapshot.times[moment];
		const [start, end] = this.range;

		if (time_ns < start || time_ns > end)
			this.look(time_ns - (end - start) / 2, time_ns + (end - start) / 2);
	}
}
