"use strict";
/* Where the lines of a scale go. */

const Axis = {
	/** Round numbers of time. @param {number} start @param {number} end @param {number} most @returns {{step: number, at: number[]}} */
	times(start, end, most) {
		const rough = (end - start) / Math.max(1, most);
		const ten = 10 ** Math.floor(Math.log10(rough));
		const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough);
		const at = [];

		for (let time = Math.ceil(start / step) * step; time <= end; time += step) at.push(time);
		return { step, at };
	},

	/** Round numbers of bytes from 0 on. @param {number} top @param {number} most @returns {number[]} */
	sizes(top, most) {
		const rough = top / Math.max(1, most);
		const unit =
			1024 **
			Math.floor(
				Math.max(0, Math.log2(rough)) / 10,
			); /* steps are round in it, 512 is a half of the next */
		const step = [1, 2, 5, 10, 20, 50, 100, 200, 512, 1024].find((n) => n * unit >= rough) * unit;
		const at = [];

		for (let size = 0; size <= top; size += step) at.push(size);
		return at;
	},

	/** @param {number} bytes a round number @returns {string} without needless digits */
	size_text(bytes) {
		return Format.bytes(bytes).replace(/\.0(?=\u00a0)/, "");
	},
};
