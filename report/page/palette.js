"use strict";
/* Colours. Those of categories are Okabe and Ito's, which people with any kind of colour vision tell apart, somewhat lighter on
 * dark ground. Canvases take theirs from the style sheet, so that there is one place for each. */

const Palette = {
	light: [
		"#0072b2",
		"#e69f00",
		"#009e73",
		"#cc79a7",
		"#56b4e9",
		"#d55e00",
		"#b8a814",
		"#6a51a3",
		"#8c6d4f",
		"#9aa3ad",
	],
	dark: [
		"#3f9bd6",
		"#f0b13c",
		"#2bb58c",
		"#dd92bb",
		"#7cc6f0",
		"#e8783a",
		"#d6c83c",
		"#9a86d0",
		"#b39476",
		"#7d8791",
	],
	/* Categories that the built-in rules know keep their colour from page to page. */
	known: ["parameters", "gradients", "activations", "optimizer", "communication", "workspace", "kv-cache"],
	last: 9,

	/** @returns {boolean} */
	is_dark() {
		return document.documentElement.dataset.theme === "dark";
	},

	/** @param {number} index @returns {string} */
	color(index) {
		return (Palette.is_dark() ? Palette.dark : Palette.light)[index];
	},

	/**
	 * Which colour each name gets: known ones theirs, "other" the grey one, the rest what is left, in order.
	 * @param {string[]} names
	 * @returns {number[]}
	 */
	assign(names) {
		const taken = new Set(names.map((name) => Palette.known.indexOf(name)));
		let next = 0;

		return names.map((name) => {
			if (name === "other") return Palette.last;
			if (Palette.known.includes(name)) return Palette.known.indexOf(name);
			while (next < Palette.last && taken.has(next)) next++;
			return next < Palette.last ? next++ : Palette.last;
		});
	},

	/** A property of the style sheet, such as "--line". @param {string} name @returns {string} */
	style(name) {
		const probe =
			Palette.probe || (Palette.probe = document.body.appendChild(Dom.make("i", { hidden: true })));

		probe.style.color = "var(" + name + ")";
		return getComputedStyle(probe).color;
	},

	/** @param {string} color "#rrggbb" or "rgb(r, g, b)" @returns {number[]} */
	rgb(color) {
		if (color[0] === "#") return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
		return color
			.match(/[\d.]+/g)
			.slice(0, 3)
			.map(Number);
	},

	/** @param {number[]} from @param {number[]} to @param {number} part of `to` @returns {number[]} */
	mix(from, to, part) {
		return from.map((value, i) => Math.round(value + (to[i] - value) * part));
	},

	/** A pixel of ImageData. @param {number[]} rgb @returns {number} */
	pixel(rgb) {
		return ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
	},
};
