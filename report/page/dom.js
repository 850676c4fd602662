"use strict";
/* Elements. Whatever comes from a snapshot becomes text here, never markup. */

const Dom = {
	/** @param {string} id @returns {HTMLElement} */
	get(id) {
		return document.getElementById(id);
	},

	/**
	 * @param {string} tag
	 * @param {Object} [has] attributes; "text" is the content, "class" the classes, "on" an object of listeners
	 * @param {...(Node|null)} children
	 * @returns {HTMLElement}
	 */
	make(tag, has = {}, ...children) {
		const element = document.createElement(tag);

		for (const [key, value] of Object.entries(has)) {
			if (value === null || value === undefined || value === false) continue;
			if (key === "text") element.textContent = value;
			else if (key === "class") element.className = value;
			else if (key === "on")
				for (const [event, listener] of Object.entries(value))
					element.addEventListener(event, listener);
			else if (key === "style") element.style.cssText = value;
			else element.setAttribute(key, value === true ? "" : value);
		}
		for (const child of children) if (child) element.append(child);
		return element;
	},

	/** Replaces what is in an element. @param {Element} element @param {...(Node|string|null)} children */
	fill(element, ...children) {
		element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
	},

	/**
	 * A choice of few, as a row of buttons that behave as radio buttons.
	 * @param {string} label
	 * @param {Array<[string, string]>} choices value and text
	 * @param {string} chosen
	 * @param {function(string)} on_choice
	 * @returns {HTMLElement}
	 */
	choice(label, choices, chosen, on_choice) {
		const row = Dom.make("div", { class: "choice", role: "group", "aria-label": label });

		for (const [value, text] of choices) {
			row.append(
				Dom.make("button", {
					type: "button",
					text,
					"data-value": value,
					"aria-pressed": String(value === chosen),
					on: {
						click() {
							for (const button of row.children)
								button.setAttribute(
									"aria-pressed",
									String(button.dataset.value === value),
								);
							on_choice(value);
						},
					},
				}),
			);
		}
		return row;
	},

	/**
	 * A choice of many, as a drop-down with its label before it.
	 * @param {string} label
	 * @param {Array<[string, string]>} choices value and text
	 * @param {string} chosen
	 * @param {function(string)} on_choice
	 * @returns {HTMLElement}
	 */
	select(label, choices, chosen, on_choice) {
		const select = Dom.make("select", { on: { change: () => on_choice(select.value) } });

		for (const [value, text] of choices)
			select.append(Dom.make("option", { value, text, selected: value === chosen }));
		return Dom.make("label", { class: "select" }, Dom.make("span", { text: label }), select);
	},

	/** What an empty place says: what is missing, and why. @returns {HTMLElement} */
	empty(what, why) {
		const box = Dom.make("div", { class: "empty" }, Dom.make("strong", { text: what }));

		for (const [index, piece] of why.split("`").entries())
			box.append(index % 2 ? Dom.make("code", { text: piece }) : piece);
		return box;
	},

	/** The one tip of the page, beside the pointer; without lines it goes. @param {?MouseEvent} event @param {string[]} [lines] */
	tip(event, lines) {
		const tip = Dom.get("tip");

		tip.hidden = !lines;
		if (!lines) return;
		Dom.fill(tip, ...lines.map((text) => Dom.make("div", { class: "name", text })));
		const box = tip.getBoundingClientRect();
		const left =
			event.clientX + 14 + box.width > innerWidth
				? event.clientX - box.width - 12
				: event.clientX + 14;
		const top =
			event.clientY + 16 + box.height > innerHeight
				? event.clientY - box.height - 10
				: event.clientY + 16;

		tip.style.left = Math.max(4, left) + "px";
		tip.style.top = Math.max(4, top) + "px";
	},
};
