"use strict";
/* The allocator's memory at the moment that is shown: segments in the order of their addresses, wrapped like text, with what
 * lies in them. One strip of pixels a row, so that a hundred thousand blocks cost no more than ten. */

const ROW = { height: 18, gap: 5, most: 10 };
const OWNER = { none: -1, hole: -2 };
const ROUND_BYTES = 512; /* what gpushim and PyTorch round sizes to: the rest of it is no hole */

class Segments {
	/** @param {View} view @param {HTMLElement} box @param {HTMLElement} note */
	constructor(view, box, note) {
		this.view = view;
		this.box = box;
		this.note = note;
		this.canvas = Dom.make("canvas", { class: "segments", id: "segments_map", role: "img" });
		this.canvas.addEventListener("pointermove", (event) =>
			Dom.tip(event, this.tell(this.pixel_under(event))),
		);
		this.canvas.addEventListener("pointerleave", () => Dom.tip(null));
		this.canvas.addEventListener("click", (event) => {
			const owner = this.owner[this.pixel_under(event)];

			if (owner >= 0) view.set({ item: owner, line: -1 });
		});
		view.on(["history", "size", "theme"], () => this.scale());
		view.on(["moment", "hover", "item"], () => this.draw());
	}

	/** Runs of addresses with memory behind them, and what the driver served. @returns {Array<{address, end}>} */
	runs(moment) {
		const { view } = this;
		const { extents, items, origins, header } = view.snapshot;
		const device = view.history.choice.device;
		const driver = header.sorts.indexOf("driver");
		const runs = [];

		for (let i = 0; i < extents.count; i++)
			if (
				extents.born[i] <= moment &&
				extents.died[i] > moment &&
				(device < 0 || extents.device[i] === device)
			)
				runs.push({ address: extents.address[i], end: extents.address[i] + extents.size[i] });
		for (let i = 0; i < items.count && items.born[i] <= moment; i++)
			if (
				origins.sort[items.origin[i]] === driver &&
				items.died[i] > moment &&
				(device < 0 || items.device[i] === device)
			)
				runs.push({ address: items.address[i], end: items.address[i] + items.size[i] });
		runs.sort((a, b) => a.address - b.address);
		const joined = [];

		for (const run of runs) {
			const last = joined[joined.length - 1];

			if (last && run.address <= last.end) last.end = Math.max(last.end, run.end);
			else joined.push(run);
		}
		return joined;
	}

	/** Where a block ends for others. @param {number} block @returns {number} */
	end_of(block) {
		const { items } = this.view.snapshot;

		return items.address[block] + Math.ceil(items.size[block] / ROUND_BYTES) * ROUND_BYTES;
	}

	/** Blocks that are live or pending, by address. */
	blocks(moment) {
		const { view } = this;
		const { items, origins, piece } = view.snapshot;
		const device = view.history.choice.device;
		const found = [];

		for (let i = 0; i < items.count && items.born[i] <= moment; i++)
			if (
				items.done[i] > moment &&
				origins.sort[items.origin[i]] === piece &&
				(device < 0 || items.device[i] === device)
			)
				found.push(i);
		return found.sort((a, b) => items.address[a] - items.address[b]);
	}

	/** The scale holds for all moments, so that growth is seen as growth. */
	scale() {
		const { view } = this;
		const peak = view.holding.peak;
		const runs = this.runs(peak);
		const pieces = this.blocks(peak).length * 1.5 + runs.length;

		this.rows = Math.min(ROW.most, Math.max(2, Math.ceil(pieces / 40)));
		this.top = Math.max(
			1,
			...[peak, view.history.peak, view.snapshot.events].map((moment) =>
				this.runs(moment).reduce((sum, run) => sum + run.end - run.address, 0),
			),
		);
		this.gaps = runs.length;
		this.ready = this.top > 1;
		Dom.fill(this.box, this.ready ? this.canvas : this.missing(), this.ready ? this.legend() : null);
		this.draw();
	}

	missing() {
		const { settings } = this.view.meta;

		return Dom.empty(
			"No segments to show.",
			settings.backend === "off"
				? "The program ran with `backend:off`: the driver served its memory. With `backend:vmm`, the default, gpushim does."
				: "gpushim served no device memory to this process.",
		);
	}

	legend() {
		return Dom.make(
			"p",
			{ class: "key" },
			Dom.make(
				"span",
				{},
				Dom.make("i", { class: "dot", style: "--color:" + Palette.color(0) }),
				"live, in the colours above",
			),
			Dom.make(
				"span",
				{},
				Dom.make("i", { class: "dot", style: "--color:var(--pending_solid)" }),
				"freed, not yet free for everybody",
			),
			Dom.make("span", {}, Dom.make("i", { class: "dot hollow" }), "hole: held and free"),
		);
	}

	/* --- drawing --- */

	draw() {
		const { view } = this;
		const moment = view.shown;

		if (!this.ready) return;
		const ratio = devicePixelRatio || 1;
		const width = Math.max(100, Math.round(this.box.clientWidth * ratio));

		this.width = width;
		this.owner = new Int32Array(width * this.rows).fill(OWNER.none);
		this.pixels = new Uint32Array(width * this.rows);
		this.covered = new Float32Array(width * this.rows);
		this.per_pixel = this.top / Math.max(1, width * this.rows - this.gaps * 3 - this.rows * 4);
		this.place(this.runs(moment));
		this.paint(moment);
		this.show(ratio);
		this.tell_sums(moment);
	}

	/* Each run gets its pixels; a run that does not fit goes on in the next row. */
	place(runs) {
		const hole = Palette.pixel(Palette.rgb(Palette.style("--hole")));
		let at = 0;

		for (const run of runs) {
			run.at = at;
			run.pixels = Math.max(2, Math.ceil((run.end - run.address) / this.per_pixel));
			for (let i = at; i < Math.min(this.owner.length, at + run.pixels); i++) {
				this.owner[i] = OWNER.hole;
				this.pixels[i] = hole;
			}
			at += run.pixels + 3;
		}
		this.all = runs;
	}

	/* Where an address lies among the pixels; null outside of the runs. */
	pixel_of(address) {
		let low = 0;
		let high = this.all.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >>> 1;

			if (this.all[middle].address <= address) low = middle;
			else high = middle - 1;
		}
		const run = this.all[low];

		return run && address >= run.address && address < run.end
			? run.at + (address - run.address) / this.per_pixel
			: null;
	}

	paint(moment) {
		const { view } = this;
		const { history, snapshot } = view;
		const { items, origins, header } = snapshot;
		const device = history.choice.device;
		const card = Palette.rgb(Palette.style("--card"));
		const ink = Palette.rgb(Palette.style("--ink"));
		const colors = history.ranking.colors.map((color) => Palette.rgb(Palette.color(color)));
		const neutral = Palette.rgb(Palette.style("--block"));
		const pending = Palette.rgb(Palette.style("--pending_solid"));
		const layers = ["block", "driver", "tensor"].map((name) => header.sorts.indexOf(name));

		for (const sort of layers) {
			this.covered.fill(0);
			for (let i = 0; i < items.count && items.born[i] <= moment; i++) {
				if (
					items.done[i] <= moment ||
					origins.sort[items.origin[i]] !== sort ||
					(device >= 0 && items.device[i] !== device)
				)
					continue;
				const live = items.died[i] > moment;
				const band = history.ranking.band_of[items.origin[i]];
				let color = !live ? pending : history.shown[i] ? colors[band] : neutral;

				if (live && history.lit && !history.lit[items.origin[i]])
					color = Palette.mix(color, card, 0.7);
				this.bar(i, color, i === view.item ? ink : Palette.mix(color, ink, 0.3));
			}
		}
	}

	bar(item, color, edge) {
		const { items } = this.view.snapshot;
		const from = this.pixel_of(items.address[item]);

		if (from === null) return;
		const to = from + items.size[item] / this.per_pixel;
		const first = Math.floor(from);
		const last = Math.min(this.owner.length, Math.max(first + 1, Math.round(to)));
		const picked = item === this.view.item;

		if (to - from < 1) {
			const part = Math.min(1, this.covered[first] + Math.max(0.15, to - from));

			this.covered[first] = part;
			this.pixels[first] = Palette.pixel(
				Palette.mix(Palette.rgb(Palette.style("--hole")), picked ? edge : color, part),
			);
			this.owner[first] = item;
			return;
		}
		this.pixels.fill(Palette.pixel(picked ? edge : color), first, last);
		this.owner.fill(item, first, last);
		if (last - first > 3) this.pixels[last - 1] = Palette.pixel(edge);
	}

	show(ratio) {
		const { width, rows } = this;
		const strip = document.createElement("canvas");
		const context = this.canvas.getContext("2d");
		const image = new ImageData(new Uint8ClampedArray(this.pixels.buffer), width, rows);

		strip.width = width;
		strip.height = rows;
		strip.getContext("2d").putImageData(image, 0, 0);
		this.canvas.width = width;
		this.canvas.height = Math.round((rows * (ROW.height + ROW.gap) - ROW.gap) * ratio);
		this.canvas.style.height = this.canvas.height / ratio + "px";
		context.imageSmoothingEnabled = false;
		for (let row = 0; row < rows; row++)
			context.drawImage(
				strip,
				0,
				row,
				width,
				1,
				0,
				row * (ROW.height + ROW.gap) * ratio,
				width,
				ROW.height * ratio,
			);
	}

	tell_sums(moment) {
		const { view } = this;
		const { items } = view.snapshot;
		let [live, pending, hole, largest] = [0, 0, 0, 0];
		let held = 0;
		const blocks = (this.sorted = this.blocks(moment));
		let next = 0;

		for (const run of this.all) {
			let from = run.address;

			held += run.end - run.address;
			while (next < blocks.length && items.address[blocks[next]] < run.address) next++;
			for (; next < blocks.length && items.address[blocks[next]] < run.end; next++) {
				const address = items.address[blocks[next]];

				largest = Math.max(largest, address - from);
				from = Math.max(from, this.end_of(blocks[next]));
			}
			largest = Math.max(largest, run.end - from);
		}
		let stitched = 0;
		let rounded = 0;

		for (const block of blocks) {
			rounded += this.end_of(block) - items.address[block] - items.size[block];
			if (items.died[block] > moment) live += items.size[block];
			else pending += items.size[block];
			if (this.pixel_of(items.address[block]) === null) stitched++;
		}
		hole = Math.max(0, view.holding.held[moment] - live - pending - rounded);
		const text =
			Format.bytes(held) +
			" in " +
			Format.some(this.all.length, "segment") +
			" at " +
			view.time_text(moment) +
			": " +
			Format.bytes(live) +
			" live in " +
			Format.some(blocks.length, view.snapshot.header.sorts[view.snapshot.piece]) +
			(stitched > 0
				? " (" + Format.count(stitched) + " of them stitched from pieces of holes)"
				: "") +
			(pending > 0 ? ", " + Format.bytes(pending) + " pending" : "") +
			(rounded > held / 200 ? ", " + Format.bytes(rounded) + " lost to rounding" : "") +
			", " +
			Format.bytes(hole) +
			" in holes" +
			(hole > 0 ? ", the largest " + Format.bytes(Math.min(largest, hole)) : "");

		this.note.textContent = text;
		this.canvas.setAttribute("aria-label", text);
	}

	/* --- pointer --- */

	/* -1: none. */
	pixel_under(event) {
		const row = Math.floor(event.offsetY / (ROW.height + ROW.gap));
		const x = Math.floor(event.offsetX * (devicePixelRatio || 1));

		return row < 0 || row >= this.rows || x < 0 || x >= this.width ? -1 : row * this.width + x;
	}

	/** @param {number} pixel @returns {string[]|undefined} */
	tell(pixel) {
		const { snapshot, shown } = this.view;
		const { items, origins } = snapshot;
		const owner = this.owner[pixel] ?? OWNER.none;

		if (owner === OWNER.none) return undefined;
		if (owner === OWNER.hole) return this.tell_hole(pixel);
		const sort = snapshot.header.sorts[origins.sort[items.origin[owner]]];

		return [
			Format.bytes(items.size[owner]) +
				" \u00b7 " +
				(items.died[owner] > shown ? sort : "freed, pending") +
				" at " +
				Format.address(items.address[owner]),
			snapshot.line_of(origins.stack[items.origin[owner]]),
		];
	}

	/* How large a hole is, and what lies on both sides of it: while those are in use, their memory stays. */
	tell_hole(pixel) {
		const { items, origins } = this.view.snapshot;
		const run = this.all.findLast((one) => one.at <= pixel);
		const address = run.address + (pixel - run.at + 0.5) * this.per_pixel;
		const inside = (block) =>
			block !== undefined && items.address[block] >= run.address && items.address[block] < run.end;
		const before = this.sorted.findLast((block) => items.address[block] <= address);
		const after = this.sorted.find((block) => items.address[block] > address);
		const start = inside(before) ? Math.min(run.end, this.end_of(before)) : run.address;
		const end = inside(after) ? items.address[after] : run.end;
		const side = (where, block) =>
			inside(block)
				? [
						`${where}: ${Format.bytes(items.size[block])}, ${this.view.snapshot.line_of(origins.stack[items.origin[block]])}`,
					]
				: [];

		return [
			`a hole of ${Format.bytes(Math.max(0, end - start))}: held by the allocator, free for anybody`,
			...side("before it", before),
			...side("behind it", after),
		];
	}
}
