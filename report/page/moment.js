"use strict";
/* What was alive at one moment. Items come by birth, so that those born later need not be looked at. */

const Moment = {
	/** Calls visit with each item that is shown and alive. @param {History} history @param {number} moment */
	each(history, moment, visit) {
		const { born, died, count } = history.snapshot.items;
		const shown = history.shown;

		for (let i = 0; i < count && born[i] <= moment; i++) if (died[i] > moment && shown[i]) visit(i);
	},

	/** Bytes alive, by origin. @param {History} history @param {number} moment @returns {Float64Array} */
	by_origin(history, moment) {
		const { size, origin } = history.snapshot.items;
		const bytes = new Float64Array(history.snapshot.origins.count);

		Moment.each(history, moment, (i) => {
			bytes[origin[i]] += size[i];
		});
		return bytes;
	},

	/** Bytes alive, by slot. @param {History} history @param {number} moment @returns {Float64Array} */
	by_slot(history, moment) {
		const sums = new Float64Array(history.slots);

		history.advance(sums, -1, moment);
		return sums;
	},

	/** The largest ones. @param {History} history @param {number} moment @param {number} most @returns {number[]} */
	largest(history, moment, most, fits = () => true) {
		const { size } = history.snapshot.items;
		const found = [];

		Moment.each(history, moment, (i) => {
			if (fits(i)) found.push(i);
		});
		return found.sort((a, b) => size[b] - size[a]).slice(0, most);
	},
};
