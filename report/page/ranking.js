"use strict";
/* What the bands of the timeline stand for: categories, lines, threads or sorts of memory. Origins are dealt out to bands. */

const BANDS = 10; /* as many as there are colours; the last one takes what the others do not */

class Ranking {
	/**
	 * @param {Snapshot} snapshot
	 * @param {string} by "category", "line", "thread" or "sort"
	 * @param {Float64Array} weights of the origins: the heaviest keys get bands of their own; below 0: it is not shown
	 */
	constructor(snapshot, by, weights) {
		const key_of = Ranking.keys(snapshot, by);
		const keys = Array.from({ length: snapshot.origins.count }, (_, origin) => key_of(origin));
		const weight = new Map();

		for (const [origin, key] of keys.entries())
			if (weights[origin] >= 0) weight.set(key, (weight.get(key) || 0) + weights[origin]);
		const known = (key) => (by === "category" && key !== "other" ? 0 : 1);
		const order = [...weight.keys()].sort((a, b) => known(a) - known(b) || weight.get(b) - weight.get(a));
		const named = order.filter((key) => key !== "other").slice(0, order.length > BANDS ? BANDS - 1 : BANDS);
		const rest = order.length > named.length;

		this.by = by;
		this.names = rest ? [...named, "other"] : named;
		this.colors =
			by === "category"
				? Palette.assign(this.names)
				: this.names.map((_, i) => (rest && i === named.length ? Palette.last : i));
		const band = new Map(named.map((key, i) => [key, i]));

		this.band_of = Uint8Array.from(keys, (key) =>
			band.has(key) ? band.get(key) : Math.max(0, this.names.length - 1),
		);
	}

	/** @returns {function(number): string} the key of an origin */
	static keys(snapshot, by) {
		const origins = snapshot.origins;

		if (by === "category") return (origin) => snapshot.texts[origins.category[origin]];
		if (by === "line") return (origin) => snapshot.line_of(origins.stack[origin]);
		if (by === "thread") return (origin) => snapshot.thread(origins.thread[origin]);
		return (origin) => snapshot.header.sorts[origins.sort[origin]];
	}
}
