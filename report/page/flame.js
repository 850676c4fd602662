"use strict";
/* A flame graph of bytes, hanging from its root: who called whom down to what allocated, at the picked moment or in all. */

const FLAME = { row: 21, least: 0.0015, most: 2500 };

class Flame {
	/** @param {View} view @param {HTMLElement} box @param {HTMLElement} note @param {HTMLElement} controls */
	constructor(view, box, note, controls) {
		this.view = view;
		this.box = box;
		this.note = note;
		this.of = "moment";
		this.core = false;
		this.focus = null;
		controls.append(
			Dom.choice(
				"Bytes",
				[
					["moment", "At the moment"],
					["total", "Allocated in all"],
				],
				this.of,
				(of) => {
					this.of = of;
					this.build();
				},
			),
			Dom.choice(
				"Frames",
				[
					["own", "Telling frames"],
					["all", "All"],
				],
				"own",
				(which) => {
					this.core = which === "all";
					this.build();
				},
			),
		);
		box.addEventListener("keydown", (event) => this.key(event));
		box.addEventListener("pointerleave", () => Dom.tip(null));
		view.on(["history", "moment"], () => this.build());
		view.on(["theme", "size", "search"], () => this.draw());
	}

	/** Bytes by origin. */
	weights() {
		const { history } = this.view;
		const { items } = history.snapshot;

		if (this.of === "moment") return Moment.by_origin(history, this.view.moment);
		const bytes = new Float64Array(history.snapshot.origins.count);

		for (let i = 0; i < items.count; i++) if (history.shown[i]) bytes[items.origin[i]] += items.size[i];
		return bytes;
	}

	build() {
		const { snapshot, history } = this.view;
		const weights = this.weights();
		const make = (frame, parent) => ({
			frame,
			parent,
			bytes: 0,
			bands: new Float64Array(BANDS + 1),
			children: new Map(),
		});

		this.root = make(0, null);
		for (let origin = 0; origin < weights.length; origin++) {
			const bytes = weights[origin];

			if (bytes === 0) continue;
			const frames = snapshot.frames_of(snapshot.origins.stack[origin]);
			const band = history.ranking.band_of[origin];
			let node = this.root;

			node.bytes += bytes;
			node.bands[band] += bytes;
			for (let i = frames.length - 1; i >= 0; i--) {
				if (!this.core && snapshot.is_core(frames[i])) continue;
				const key = snapshot.frames.place[frames[i]];
				let child = node.children.get(key);

				if (!child) node.children.set(key, (child = make(frames[i], node)));
				child.bytes += bytes;
				child.bands[band] += bytes;
				node = child;
			}
		}
		this.focus = this.root;
		this.draw();
	}

	/** What a node is called. */
	text(node) {
		return node === this.root ? "all" : this.view.snapshot.place(node.frame);
	}

	matches(node) {
		return (
			this.view.search !== "" &&
			node !== this.root &&
			this.text(node).toLowerCase().includes(this.view.search)
		);
	}

	draw() {
		const { view, root } = this;

		if (!root) return;
		this.note.textContent =
			Format.bytes(root.bytes) +
			(this.of === "moment"
				? " alive at " + view.time_text(view.moment)
				: " allocated in the history");
		if (root.bytes === 0) {
			this.box.style.height = "";
			Dom.fill(
				this.box,
				Dom.empty(
					"Nothing to show.",
					this.of === "moment"
						? "Nothing was alive at this moment; click the timeline where there was."
						: "Nothing was allocated in the history.",
				),
			);
			return;
		}
		const nodes = [];
		let deepest = 0;
		const add = (node, left, width, row) => {
			if (width < FLAME.least || nodes.length >= FLAME.most) return;
			deepest = Math.max(deepest, row);
			nodes.push(this.bar(node, left, width, row));
			const scale = width / node.bytes;

			for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
				add(child, left, child.bytes * scale, row + 1);
				left += child.bytes * scale;
			}
		};
		const above = [];

		for (let node = this.focus.parent; node; node = node.parent) above.unshift(node);
		for (const [row, node] of above.entries()) nodes.push(this.bar(node, 0, 1, row, true));
		add(this.focus, 0, 1, above.length);
		this.box.style.height = (deepest + 1) * FLAME.row + "px";
		Dom.fill(this.box, ...nodes);
		const first = this.box.children[above.length];

		if (first) first.tabIndex = 0;
	}

	bar(node, left, width, row, above = false) {
		const { view } = this;
		const band = node.bands.indexOf(Math.max(...node.bands));
		const color = Palette.color(view.history.ranking.colors[band] ?? Palette.last);
		const shade = Palette.mix(
			Palette.rgb(color),
			Palette.rgb(Palette.style("--card")),
			Palette.is_dark() ? 0.45 : 0.55,
		);
		const bar = Dom.make(
			"button",
			{
				type: "button",
				tabindex: "-1",
				class:
					"bar" +
					(above ? " above" : "") +
					(this.matches(node) ? " found" : view.search ? " dim" : ""),
				style: `left:${left * 100}%;width:${width * 100}%;top:${row * FLAME.row}px;--color:rgb(${shade})`,
				"aria-label": this.text(node) + ", " + Format.bytes(node.bytes),
				on: {
					click: () => this.zoom(node),
					pointermove: (event) =>
						Dom.tip(event, [
							this.text(node),
							Format.bytes(node.bytes) +
								" \u00b7 " +
								Format.share(node.bytes, this.root.bytes),
						]),
				},
			},
			Dom.make("span", { class: "name", text: width > 0.02 ? this.text(node) : "" }),
		);

		bar.node = node;
		return bar;
	}

	/** @param {Object} node what fills the width from now on */
	zoom(node) {
		this.focus = node;
		this.draw();
		this.find(node)?.focus();
	}

	find(node) {
		return [...this.box.children].find((bar) => bar.node === node);
	}

	key(event) {
		const node = event.target.node;
		const by_size = (parent) =>
			parent ? [...parent.children.values()].sort((a, b) => b.bytes - a.bytes) : [];
		let next = null;

		if (!node) return;
		if (event.key === "ArrowUp") next = node.parent;
		else if (event.key === "ArrowDown") next = by_size(node)[0];
		else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			next = by_size(node.parent)[
				by_size(node.parent).indexOf(node) + (event.key === "ArrowLeft" ? -1 : 1)
			];
		else if (event.key === "Backspace") this.zoom(this.root);
		else return;
		event.preventDefault();
		const bar = next && this.find(next);

		if (bar) {
			event.target.tabIndex = -1;
			bar.tabIndex = 0;
			bar.focus();
		}
	}
}
