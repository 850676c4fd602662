"use strict";
/* Light or dark: as the system has it, until the switch says otherwise. */

const Theme = {
	/** @param {function()} on_change */
	start(on_change) {
		const system = matchMedia("(prefers-color-scheme: dark)");
		let chosen = Theme.kept();
		const apply = () => {
			document.documentElement.dataset.theme = chosen || (system.matches ? "dark" : "light");
			on_change();
		};

		Theme.toggle = () => {
			chosen = Palette.is_dark() ? "light" : "dark";
			Theme.keep(chosen);
			apply();
		};
		system.addEventListener("change", apply);
		Dom.get("theme").addEventListener("click", Theme.toggle);
		apply();
	},

	/* A browser may refuse storage to files. */
	kept() {
		try {
			return localStorage.getItem("gpushim-theme");
		} catch {
			return null;
		}
	},

	keep(theme) {
		try {
			localStorage.setItem("gpushim-theme", theme);
		} catch {
			/* it holds for this page only */
		}
	},
};
