"use strict";
/* Memory over time: bands of what was alive, one colour each, with what the allocator held as a line above. */

const EDGE = { left: 74, right: 14, top: 22, bottom: 26 };

class Timeline {
	/** @param {View} view @param {HTMLElement} box */
	constructor(view, box) {
		this.view = view;
		this.box = box;
		this.holding_shown = true;
		this.drag = null;
		this.marks = new Marks(view.snapshot);
		this.base = Dom.make("canvas", { class: "base" });
		this.over = Dom.make("canvas", {
			class: "over",
			id: "timeline",
			tabindex: "0",
			role: "application",
			"aria-label": "Memory over time",
			"aria-describedby": "timeline_said",
		});
		this.said = Dom.make("div", { id: "timeline_said", class: "unseen", role: "status" });
		box.append(this.base, this.over, this.said);
		this.listen();
		view.on(["range", "history", "theme", "size", "item"], () => this.draw());
		view.on(["range", "history", "theme", "size", "moment", "hover", "item"], () => this.mark());
	}

	/* --- geometry --- */

	measure() {
		const box = this.box.getBoundingClientRect();
		const ratio = devicePixelRatio || 1;

		for (const canvas of [this.base, this.over]) {
			const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];

			if (canvas.width !== width || canvas.height !== height)
				[canvas.width, canvas.height] = [width, height];
		}
		this.ratio = ratio;
		this.plot = {
			x: EDGE.left,
			y: EDGE.top,
			width: Math.max(10, box.width - EDGE.left - EDGE.right),
			height: Math.max(10, box.height - EDGE.top - EDGE.bottom),
		};
	}

	/** @param {number} x of the box @returns {number} ns */
	time_at(x) {
		const [start, end] = this.view.range;

		return start + ((x - this.plot.x) / this.plot.width) * (end - start);
	}

	/** @param {number} time_ns @returns {number} of the box */
	x_of(time_ns) {
		const [start, end] = this.view.range;

		return this.plot.x + ((time_ns - start) / (end - start)) * this.plot.width;
	}

	/** @param {number} bytes @returns {number} of the box */
	y_of(bytes) {
		return this.plot.y + this.plot.height * (1 - bytes / this.top);
	}

	/** The column of pixels at x. */
	column_at(x) {
		return Math.min(this.bands.moments.length - 1, Math.max(0, Math.floor((x - this.plot.x) * this.ratio)));
	}

	/** What is drawn at a point of the box: as Bands.find, or null. */
	find(x, y) {
		const bytes = (1 - (y - this.plot.y) / this.plot.height) * this.top;

		if (y < this.plot.y || y > this.plot.y + this.plot.height) return null;
		return this.bands.find(this.column_at(x), bytes, this.raster.least(this.top));
	}

	/* --- drawing --- */

	draw() {
		this.measure();
		const { view, plot, ratio } = this;
		const width = Math.round(plot.width * ratio);
		const height = Math.round(plot.height * ratio);
		const context = this.base.getContext("2d");

		this.bands = new Bands(view.history, view.range, width);
		this.top = Math.max(this.bands.top, this.held_top(), 1) * 1.05;
		if (!this.raster || this.raster.width !== width || this.raster.height !== height)
			this.raster = new Raster(width, height);
		this.raster.draw(this.bands, this.top, view.item);
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, this.base.width, this.base.height);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.draw_missing(context);
		this.draw_grid(context);
		context.imageSmoothingEnabled = false;
		context.drawImage(this.raster.canvas, plot.x, plot.y, width / ratio, height / ratio);
		if (this.holding_drawn()) this.draw_holding(context);
		this.marks.draw(context, this);
	}

	holding_drawn() {
		return this.holding_shown && this.view.holding && this.view.holding.held[this.view.holding.peak] > 0;
	}

	held_top() {
		let top = 0;

		if (this.holding_drawn())
			for (const moment of this.bands.moments)
				if (moment >= 0) top = Math.max(top, this.view.holding.held[moment]);
		return top;
	}

	draw_missing(context) {
		const { view, plot } = this;

		if (view.snapshot.events === 0) {
			context.fillStyle = Palette.style("--soft");
			context.font = this.font(13);
			context.textAlign = "center";
			context.fillText(
				view.snapshot.header.history_kept
					? "nothing was allocated"
					: "without a history only the end is known",
				plot.x + plot.width / 2,
				plot.y + plot.height / 3,
			);
			return;
		}
		const edge = Math.min(this.x_of(view.snapshot.start_ns), plot.x + plot.width);

		if (view.snapshot.header.history_complete || edge <= plot.x) return;
		context.save();
		context.beginPath();
		context.rect(plot.x, plot.y, edge - plot.x, plot.height);
		context.clip();
		context.strokeStyle = Palette.style("--line");
		for (let x = plot.x - plot.height; x < edge; x += 9) {
			context.moveTo(x, plot.y + plot.height);
			context.lineTo(x + plot.height, plot.y);
		}
		context.stroke();
		if (edge - plot.x > 110) {
			context.fillStyle = Palette.style("--soft");
			context.font = this.font(12);
			context.fillText("not recorded", plot.x + 10, plot.y + 20);
		}
		context.restore();
	}

	font(size, weight = 400) {
		return weight + " " + size + "px " + getComputedStyle(document.body).fontFamily;
	}

	draw_grid(context) {
		const { view, plot } = this;
		const { step, at } = Axis.times(...view.range, plot.width / 110);

		context.font = this.font(11.5);
		context.fillStyle = Palette.style("--soft");
		context.strokeStyle = Palette.style("--grid");
		context.lineWidth = 1;
		context.textBaseline = "middle";
		context.textAlign = "right";
		context.beginPath();
		for (const bytes of Axis.sizes(this.top, plot.height / 44)) {
			const y = Math.round(this.y_of(bytes)) + 0.5;

			context.moveTo(plot.x, y);
			context.lineTo(plot.x + plot.width, y);
			context.fillText(Axis.size_text(bytes), plot.x - 9, y);
		}
		context.textBaseline = "top";
		context.textAlign = "center";
		for (const time of at) {
			const x = Math.round(this.x_of(time)) + 0.5;
			const text = Format.moment(time, step, view.whole[1]);
			const half = context.measureText(text).width / 2;

			context.moveTo(x, plot.y + plot.height);
			context.lineTo(x, plot.y + plot.height + 5);
			if (x + half <= plot.x + plot.width + EDGE.right)
				context.fillText(text, x, plot.y + plot.height + 9);
		}
		context.stroke();
	}

	/* What is freed and pending lies on top of what is alive, as far as blocks are shown; what is held is a line. */
	draw_holding(context) {
		const { view, plot, ratio } = this;
		const { held, pending } = view.holding;
		const moments = this.bands.moments;
		const blocks = (view.history.choice.sorts & 1) !== 0 && view.history.hidden.size === 0;

		context.save();
		context.beginPath();
		context.rect(plot.x, plot.y, plot.width, plot.height);
		context.clip();
		context.fillStyle = Palette.style("--pending");
		for (let x = 0; x < moments.length && blocks; x++) {
			const moment = moments[x];

			if (moment < 0 || pending[moment] <= 0) continue;
			const y = this.y_of(view.history.total[moment] + pending[moment]);

			context.fillRect(plot.x + x / ratio, y, 1 / ratio, this.y_of(view.history.total[moment]) - y);
		}
		context.beginPath();
		for (let x = 0, before = NaN; x < moments.length; x++) {
			if (moments[x] < 0) continue;
			const y = this.y_of(held[moments[x]]);

			if (Number.isNaN(before)) context.moveTo(plot.x + x / ratio, y);
			else if (y !== before) context.lineTo(plot.x + x / ratio, before);
			context.lineTo(plot.x + x / ratio, y);
			before = y;
			if (x === moments.length - 1) context.lineTo(plot.x + (x + 1) / ratio, y);
		}
		context.strokeStyle = Palette.style("--held");
		context.lineWidth = 1.5;
		context.stroke();
		context.restore();
	}

	/* --- the picked moment, the pointer, what is dragged --- */

	mark() {
		const { view, plot, ratio } = this;
		const context = this.over.getContext("2d");

		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, this.over.width, this.over.height);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.mark_moment(context, view.moment, "--accent", true);
		if (view.hover >= 0) this.mark_line(context, this.pointer_x, "--soft");
		if (this.drag && this.drag.kind === "select") {
			const [from, to] = [this.drag.from, this.drag.to].sort((a, b) => a - b);

			context.fillStyle = Palette.style("--select");
			context.fillRect(from, plot.y, to - from, plot.height);
		}
	}

	mark_line(context, x, style) {
		if (x < this.plot.x || x > this.plot.x + this.plot.width) return;
		context.strokeStyle = Palette.style(style);
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(Math.round(x) + 0.5, this.plot.y);
		context.lineTo(Math.round(x) + 0.5, this.plot.y + this.plot.height);
		context.stroke();
	}

	mark_moment(context, moment, style) {
		const x = this.x_of(this.view.snapshot.times[moment]);

		if (x < this.plot.x - 1 || x > this.plot.x + this.plot.width + 1) return;
		this.mark_line(context, Math.max(this.plot.x, Math.min(x, this.plot.x + this.plot.width)), style);
		context.fillStyle = Palette.style(style);
		context.beginPath();
		context.moveTo(x - 5, this.plot.y + this.plot.height + 7);
		context.lineTo(x + 5, this.plot.y + this.plot.height + 7);
		context.lineTo(x, this.plot.y + this.plot.height);
		context.fill();
	}

	/* --- pointer and keys --- */

	listen() {
		const over = this.over;

		over.addEventListener("pointerdown", (event) => this.press(event));
		over.addEventListener("pointermove", (event) => this.move(event));
		over.addEventListener("pointerup", (event) => this.release(event));
		over.addEventListener("pointercancel", () => {
			this.drag = null;
			this.mark();
		});
		over.addEventListener("pointerleave", () => {
			Dom.tip(null);
			this.view.set({ hover: -1 });
		});
		over.addEventListener("dblclick", () => this.view.look(...this.view.whole));
		over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
		over.addEventListener("keydown", (event) => this.key(event));
	}

	press(event) {
		if (event.button > 1) return;
		this.over.setPointerCapture(event.pointerId);
		this.drag = {
			kind: event.shiftKey || event.button === 1 ? "pan" : "press",
			from: event.offsetX,
			to: event.offsetX,
			range: this.view.range,
		};
	}

	move(event) {
		const { view, drag } = this;
		const x = Math.min(Math.max(event.offsetX, this.plot.x), this.plot.x + this.plot.width);

		this.pointer_x = x;
		if (drag) {
			drag.to = x;
			if (drag.kind === "press" && Math.abs(event.offsetX - drag.from) > 4) drag.kind = "select";
			if (drag.kind === "pan") {
				const shift =
					((drag.from - event.offsetX) / this.plot.width) *
					(drag.range[1] - drag.range[0]);

				view.look(drag.range[0] + shift, drag.range[1] + shift);
			}
			if (drag.kind === "select") this.mark();
		}
		const moment = this.bands.moments[this.column_at(x)];

		if (view.hover === moment) this.mark();
		view.set({ hover: moment });
		Dom.tip(event, this.tell(event.offsetX, event.offsetY));
	}

	release(event) {
		const { view, drag } = this;

		this.drag = null;
		if (!drag || drag.kind === "pan") return;
		if (drag.kind === "select") {
			const [from, to] = [drag.from, drag.to].sort((a, b) => a - b);

			view.look(this.time_at(Math.max(from, this.plot.x)), this.time_at(to));
			return;
		}
		const found = this.find(event.offsetX, event.offsetY);
		const moment = this.bands.moments[this.column_at(event.offsetX)];

		if (moment >= 0) view.set({ moment, item: found ? found.item : -1, line: -1 });
	}

	wheel(event) {
		const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);

		if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== this.over) return;
		event.preventDefault();
		if (sideways) this.view.pan((event.deltaX || event.deltaY) / this.plot.width);
		else this.view.zoom(Math.exp(event.deltaY * 0.0022), this.time_at(event.offsetX));
	}

	/** What is under a point, in lines. */
	tell(x, y) {
		const { view } = this;
		const { snapshot, history } = view;
		const moment = this.bands.moments[this.column_at(x)];
		const found = this.find(x, y);

		if (moment < 0) return ["not recorded: older than the history is long"];
		const lines = [this.time_text(moment) + " \u00b7 " + Format.bytes(history.total[moment]) + " alive"];

		lines.push(...this.marks.tell(this, x));
		if (this.holding_drawn())
			lines.push(Format.bytes(view.holding.held[moment]) + " held by the allocator");
		if (found && found.item >= 0)
			lines.push(
				history.ranking.names[found.band] +
					" \u00b7 " +
					Format.bytes(snapshot.items.size[found.item]),
				snapshot.line_of(snapshot.origins.stack[snapshot.items.origin[found.item]]),
			);
		else if (found) lines.push(history.ranking.names[found.band] + " \u00b7 small ones together");
		return lines;
	}

	/** The time of a moment, as exact as a pixel is wide. */
	time_text(moment) {
		const { snapshot, range, whole } = this.view;

		return Format.moment(snapshot.times[moment], (range[1] - range[0]) / this.plot.width, whole[1]);
	}

	key(event) {
		const { view } = this;
		const { snapshot } = view;
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];

		if (step && event.shiftKey) {
			view.pan(step * 0.2);
		} else if (step) {
			/* the next moment that lies in another column */
			const x = this.column_at(this.x_of(snapshot.times[view.moment]));
			let moment = view.moment + step;

			while (
				moment > 0 &&
				moment < snapshot.events &&
				this.column_at(this.x_of(snapshot.times[moment])) === x
			)
				moment += step;
			this.pick(Math.min(Math.max(moment, 0), snapshot.events));
		} else if (event.key === "Home" || event.key === "End") {
			this.pick(event.key === "Home" ? 0 : snapshot.events);
		} else if (event.key === "Enter") {
			const [item] = Moment.largest(view.history, view.moment, 1);

			if (item !== undefined) view.set({ item });
		} else {
			return;
		}
		event.preventDefault();
	}

	/** Picks a moment and says it, for those who do not see it. @param {number} moment */
	pick(moment) {
		const { view } = this;

		view.set({ moment, hover: -1 });
		view.reveal(moment);
		this.said.textContent =
			this.time_text(moment) + ", " + Format.bytes(view.history.total[moment]) + " alive";
	}
}
