"use strict";
/* Bands as pixels: one 32-bit word each, written column by column. */

class Raster {
	/** @param {number} width @param {number} height device pixels */
	constructor(width, height) {
		this.canvas = document.createElement("canvas");
		this.canvas.width = this.width = Math.max(1, width);
		this.canvas.height = this.height = Math.max(1, height);
		this.context = this.canvas.getContext("2d");
		this.image = this.context.createImageData(this.width, this.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
	}

	/** Colours by slot: of small ones, and of large ones by turns; the darker one parts neighbours. */
	static colors(history) {
		const ground = Palette.rgb(Palette.style("--card"));
		const ink = Palette.rgb(Palette.style("--ink"));

		return Array.from({ length: history.slots }, (_, slot) => {
			const dim = slot >= history.ranking.names.length ? 0.78 : 0;
			const base = Palette.rgb(Palette.color(history.ranking.colors[history.band_of_slot(slot)]));
			const shade = (to, part) =>
				Palette.pixel(Palette.mix(Palette.mix(base, to, part), ground, dim));

			return {
				small: shade(ground, 0.2),
				items: [shade(ground, 0), shade(ground, 0.1), shade(ink, 0.07), shade(ground, 0.05)],
				edge: shade(ink, 0.28),
				picked: Palette.pixel(ink),
			};
		});
	}

	/**
	 * @param {Bands} bands as many columns as pixels
	 * @param {number} top bytes at the upper edge
	 * @param {number} picked item that is marked; -1 = none
	 */
	draw(bands, top, picked) {
		const { pixels, width, height } = this;
		const colors = Raster.colors(bands.history);
		const { size } = bands.history.snapshot.items;
		const scale = height / top;

		pixels.fill(0);
		bands.walk(this.least(top), (x, slots) => {
			let level = 0;
			let y = height;
			const bar = (bytes, color, edge) => {
				level += bytes;
				const upper = Math.max(0, Math.round(height - level * scale));

				for (let at = y - 1; at > upper; at--) pixels[at * width + x] = color;
				if (upper < y) pixels[upper * width + x] = y - upper > 2 ? edge : color;
				y = Math.min(y, upper);
			};

			for (let s = 0; s < slots.length; s++) {
				const { small, items } = slots[s];
				const color = colors[s];

				if (small > 0) bar(small, color.small, color.small);
				for (let i = 0; i < items.length; i++) {
					const item = items[i];

					bar(
						size[item],
						item === picked ? color.picked : color.items[item & 3],
						color.edge,
					);
				}
			}
		});
		this.context.putImageData(this.image, 0, 0);
	}

	/** Bytes of what is drawn one by one: about two pixels. @param {number} top @returns {number} */
	least(top) {
		return (2 * top) / this.height;
	}
}
