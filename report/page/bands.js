"use strict";
/* The timeline as columns of pixels: for each the moment with most alive in it, what its bands hold then, and the items that are
 * large enough to be seen one by one. The image and the pointer both go by this, so that what is clicked is what is seen. */

class Bands {
	/**
	 * @param {History} history
	 * @param {number[]} range ns
	 * @param {number} width columns
	 */
	constructor(history, range, width) {
		const { snapshot, maxima } = history;
		const step = (range[1] - range[0]) / width;

		this.history = history;
		this.moments = new Int32Array(width).fill(-1); /* -1: not recorded */
		this.top = 0;
		for (let x = 0, last = snapshot.moment_at(range[0]); x < width; x++) {
			const first = last;
			const end = range[0] + (x + 1) * step;

			last = snapshot.moment_at(end);
			if (end < snapshot.start_ns) continue;
			this.moments[x] = maxima.find(first, last);
			this.top = Math.max(this.top, history.total[this.moments[x]]);
		}
	}

	/**
	 * Calls column(x, slots) for each column in order, where slots[s] = {small, items}: bytes of what is too small, and the
	 * large items by birth.
	 * @param {number} least bytes of a large item
	 * @param {function(number, Array)} column
	 */
	walk(least, column, from = 0, to = this.moments.length) {
		const { history, moments } = this;
		const { items } = history.snapshot;
		const { born, died, size, origin } = items;
		const shown = history.shown;
		const sums = new Float64Array(history.slots);
		const slots = Array.from({ length: history.slots }, () => ({ small: 0, items: [] }));
		let next = 0;
		let before = -1;

		for (let x = from; x < to; x++) {
			const moment = moments[x];

			if (moment < 0) continue;
			if (moment !== before) {
				history.advance(sums, before, moment);
				for (const slot of slots) {
					const list = slot.items;
					let kept = 0;

					for (let i = 0; i < list.length; i++)
						if (died[list[i]] > moment) list[kept++] = list[i];
					list.length = kept;
				}
				for (; next < items.count && born[next] <= moment; next++)
					if (size[next] >= least && died[next] > moment && shown[next])
						slots[history.slot_of[origin[next]]].items.push(next);
				for (let s = 0; s < slots.length; s++) {
					let large = 0;

					for (const i of slots[s].items) large += size[i];
					slots[s].small = Math.max(0, sums[s] - large);
				}
				before = moment;
			}
			column(x, slots);
		}
	}

	/**
	 * What lies at a height of a column.
	 * @param {number} x
	 * @param {number} bytes height
	 * @param {number} least bytes of a large item
	 * @returns {?{moment: number, band: number, item: number}} item -1: small ones; null: nothing
	 */
	find(x, bytes, least) {
		let found = null;

		if (x < 0 || x >= this.moments.length) return null;
		this.walk(
			least,
			(_, slots) => {
				let level = 0;

				for (let s = 0; s < slots.length && !found; s++) {
					const band = this.history.band_of_slot(s);

					level += slots[s].small;
					if (bytes < level) found = { moment: this.moments[x], band, item: -1 };
					for (let i = 0; i < slots[s].items.length && !found; i++) {
						level += this.history.snapshot.items.size[slots[s].items[i]];
						if (bytes < level)
							found = {
								moment: this.moments[x],
								band,
								item: slots[s].items[i],
							};
					}
				}
			},
			x,
			x + 1,
		);
		return found;
	}
}
