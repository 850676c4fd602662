"use strict";
/* Numbers and names as people read them. */

const Format = {
	/**
	 * A name from the program, made harmless: control characters and those that turn the direction of text become visible.
	 * @param {string} text
	 * @returns {string}
	 */
	name(text) {
		return text.replace(
			/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
			"\u00b7",
		);
	},

	/** @param {number} bytes @returns {string} such as "28.0 MiB" */
	bytes(bytes) {
		const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
		let unit = 0;
		let value = bytes;

		while (Math.abs(value) >= 1023.95 && unit + 1 < units.length) {
			value /= 1024;
			unit++;
		}
		return (unit === 0 ? String(value) : value.toFixed(1)) + "\u00a0" + units[unit];
	},

	/** @param {number} count @returns {string} such as "12,345" */
	count(count) {
		return Math.round(count)
			.toString()
			.replace(/\B(?=(\d{3})+$)/g, ",");
	},

	/** @param {number} ns @returns {string} such as "2.50 s", "3 h 20 min" */
	duration(ns) {
		const seconds = Math.round(ns / 1e9);
		const two = (whole, one, part, other) =>
			Math.floor(seconds / whole) +
			`\u00a0${one} ` +
			Math.floor((seconds % whole) / part) +
			`\u00a0${other}`;

		if (ns < 999.5) return Math.round(ns) + "\u00a0ns";
		if (ns < 999.95e3) return (ns / 1e3).toFixed(ns < 1e5 ? 2 : 1) + "\u00a0\u00b5s";
		if (ns < 999.95e6) return (ns / 1e6).toFixed(ns < 1e8 ? 2 : 1) + "\u00a0ms";
		if (ns < 599.95e9) return (ns / 1e9).toFixed(ns < 100e9 ? 2 : 1) + "\u00a0s";
		if (seconds < 2 * 3600) return two(60, "min", 1, "s");
		return seconds < 48 * 3600 ? two(3600, "h", 60, "min") : two(86400, "d", 3600, "h");
	},

	/**
	 * A moment, as exact as a step of so many nanoseconds needs.
	 * @param {number} ns since the start
	 * @param {number} step_ns
	 * @param {number} whole_ns of which it is part: says the unit
	 * @returns {string}
	 */
	moment(ns, step_ns, whole_ns) {
		const unit = whole_ns >= 1e9 ? 1e9 : whole_ns >= 1e6 ? 1e6 : 1e3;
		const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step_ns / unit) - 1e-9)));

		return (ns / unit).toFixed(digits) + "\u00a0" + (unit === 1e9 ? "s" : unit === 1e6 ? "ms" : "\u00b5s");
	},

	/** @param {number} part @param {number} whole @returns {string} such as "70.0 %" */
	share(part, whole) {
		return whole > 0 ? ((100 * part) / whole).toFixed(1) + "\u00a0%" : "\u2013";
	},

	/** @param {number} address @returns {string} */
	address(address) {
		return "0x" + address.toString(16);
	},

	/** @param {string} text @returns {string} with a capital */
	sentence(text) {
		return text.charAt(0).toUpperCase() + text.slice(1);
	},

	/** @param {number} count @param {string} one @param {string} [many] @returns {string} such as "3 blocks" */
	some(count, one, many) {
		return Format.count(count) + "\u00a0" + (count === 1 ? one : many || one + "s");
	},
};
