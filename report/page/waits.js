"use strict";
/* Where the host waited for a device, the dearest first, with what to do instead. */

class Waits {
	/** @param {View} view @param {HTMLElement} box @param {HTMLElement} note */
	constructor(view, box, note) {
		this.view = view;
		this.box = box;
		this.note = note;
		this.all = false;
		this.show();
	}

	show() {
		const { header, meta } = this.view.snapshot;
		const waits = header.waits;
		const most = this.all ? waits.length : 8;

		if (waits.length === 0) {
			this.note.textContent = "";
			Dom.fill(this.box, this.missing());
			return;
		}
		this.note.textContent =
			Format.duration(header.waits_ns) +
			" in all, " +
			Format.share(header.waits_ns, meta.elapsed_ns) +
			" of the run" +
			(header.idle_ns > 0
				? `; after them the device had nothing to do for at least ${Format.duration(header.idle_ns)}`
				: "");
		Dom.fill(
			this.box,
			Dom.make(
				"ol",
				{ class: "waits" },
				...waits.slice(0, most).map((wait) => this.entry(wait, waits[0].host_ns)),
			),
			most < waits.length
				? Dom.make("button", {
						type: "button",
						class: "more",
						text: "Show all " + Format.count(waits.length),
						on: {
							click: () => {
								this.all = true;
								this.show();
							},
						},
					})
				: null,
		);
	}

	missing() {
		const why = this.view.snapshot.header.waits_missing;

		if (why) return Dom.empty("Waits were not recorded.", Format.sentence(why) + ".");
		return Dom.empty("No waits.", "The host never waited for a device long enough to be noticed.");
	}

	/* What the device did meanwhile, as far as that is known. */
	idle(wait) {
		if (wait.clear) return "nothing was left to wait for: everything was known to be done";
		if (wait.drained === 0)
			return wait.followed > 0
				? `the device had more to do after ${Format.some(wait.followed, "wait")}: they were for an event with work queued behind it`
				: "";
		return (
			`afterwards the device had nothing to do for at least ${Format.duration(wait.idle_ns)}, ` +
			`${Format.duration(wait.idle_ns / wait.drained)} after each of ${Format.some(wait.drained, "wait")}` +
			(wait.timely ? "; it was busy up to then, and again at once" : "")
		);
	}

	entry(wait) {
		const { snapshot } = this.view;
		const elapsed = snapshot.meta.elapsed_ns;
		const calls =
			wait.calls > 1
				? Format.count(wait.calls) +
					" times, " +
					Format.duration(wait.host_ns / wait.calls) +
					" each, the longest " +
					Format.duration(wait.longest_ns)
				: "once";
		const copies =
			wait.copies > 0
				? "; " +
					Format.bytes(wait.size_bytes) +
					" copied" +
					(wait.memory ? ", " + wait.memory + " host memory" : "")
				: "";

		return Dom.make(
			"li",
			{ class: wait.problem ? "problem" : "" },
			Dom.make(
				"div",
				{ class: "cost" },
				Dom.make("strong", { text: Format.duration(wait.host_ns) }),
				Dom.make("span", { text: Format.share(wait.host_ns, elapsed) }),
				Dom.make("i", {
					class: "gauge",
					style: `--part:${Math.min(100, (100 * wait.host_ns) / elapsed)}%`,
				}),
			),
			Dom.make(
				"div",
				{ class: "what" },
				Dom.make(
					"p",
					{ class: "title" },
					wait.problem ? Dom.make("b", { class: "tag", text: "avoidable" }) : null,
					Format.sentence(wait.title),
				),
				Dom.make("p", {
					class: "place name",
					text: snapshot.line_of(wait.stack),
					title: snapshot.line_of(wait.stack),
				}),
				Dom.make("p", {
					class: "calls name",
					text: calls + copies + "; " + Format.name(wait.functions),
				}),
				this.idle(wait)
					? Dom.make("p", { class: "calls", text: Format.sentence(this.idle(wait)) })
					: null,
				wait.advice && (wait.problem || wait.normal)
					? Dom.make("p", {
							class: "advice",
							text: wait.problem
								? "Instead: " + wait.advice
								: Format.sentence(wait.advice),
						})
					: null,
			),
		);
	}
}
