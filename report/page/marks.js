"use strict";
/* What stands at a moment of the timeline: steps of the program, graph captures, and where memory ran out. */

class Marks {
	/** @param {Snapshot} snapshot */
	constructor(snapshot) {
		this.steps = snapshot.steps;
		this.all = snapshot.header.marks.map((mark) => ({
			time_ns: snapshot.times[mark.event],
			bad: mark.kind === "oom",
			label: mark.kind === "oom" ? "out of memory" : "",
			text: Marks.text(snapshot, mark),
		}));
	}

	static text(snapshot, mark) {
		if (mark.kind === "oom")
			return `out of memory: ${Format.bytes(mark.size_bytes)} asked for at ${snapshot.line_of(mark.stack)}`;
		return mark.kind === "capture_begin" ? "a graph capture begins" : "a graph capture ends";
	}

	/** @param {CanvasRenderingContext2D} context @param {Timeline} timeline */
	draw(context, timeline) {
		const { plot } = timeline;
		const taken = [];

		context.font = timeline.font(11);
		context.textAlign = "left";
		context.textBaseline = "alphabetic";
		context.lineWidth = 1;
		for (const mark of this.all) {
			const x = this.line(
				context,
				timeline,
				mark.time_ns,
				mark.bad ? "--bad" : "--mark",
				plot.height,
			);

			if (x !== null && mark.label) this.label(context, timeline, x, mark.label, taken);
		}
		this.draw_steps(context, timeline, taken);
	}

	/* Close together they are ticks, and where there is room they have numbers. */
	draw_steps(context, timeline, taken) {
		const { plot } = timeline;
		const [start, end] = timeline.view.range;
		const seen = this.steps.filter((step) => step.time_ns >= start && step.time_ns <= end);
		const every = Math.max(1, Math.ceil((seen.length * 8) / plot.width));

		for (const [i, step] of seen.entries()) {
			if (i % every !== 0) continue;
			const x = this.line(
				context,
				timeline,
				step.time_ns,
				"--mark",
				seen.length <= plot.width / 40 ? plot.height : 4,
			);

			if (x !== null) this.label(context, timeline, x, "step " + step.number, taken);
		}
	}

	/* Returns where the line is; null where it is not seen. */
	line(context, timeline, time_ns, style, height) {
		const { plot } = timeline;
		const x = Math.round(timeline.x_of(time_ns)) + 0.5;

		if (x < plot.x || x > plot.x + plot.width + 1) return null;
		context.strokeStyle = context.fillStyle = Palette.style(style);
		context.setLineDash(style === "--bad" ? [] : [2, 3]);
		context.beginPath();
		context.moveTo(x, plot.y - 5);
		context.lineTo(x, plot.y + height);
		context.stroke();
		context.setLineDash([]);
		return x;
	}

	/* Writes it beside the line, unless it would touch another one. */
	label(context, timeline, x, text, taken) {
		const width = context.measureText(text).width + 10;
		const { plot } = timeline;
		const fits = x + width <= plot.x + plot.width + EDGE.right;
		const left = fits ? x : x - width;

		if (taken.some(([from, to]) => left < to && left + width > from)) return;
		context.fillText(text, left + (fits ? 3 : 7), plot.y - 8);
		taken.push([left, left + width]);
	}

	/** What is near x, or where x lies. @param {Timeline} timeline @param {number} x @returns {string[]} */
	tell(timeline, x) {
		const near = this.all
			.filter((mark) => Math.abs(timeline.x_of(mark.time_ns) - x) < 4)
			.map((mark) => mark.text);
		const time_ns = timeline.time_at(x);
		const step = this.steps.find((one) => time_ns >= one.time_ns && time_ns < one.time_ns + one.wall_ns);

		if (step) near.push(`step ${Format.count(step.number)}, ${Format.duration(step.wall_ns)}`);
		return near;
	}
}
