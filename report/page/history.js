"use strict";
/* How much was alive after each event, of what was chosen to be seen: in all, and by band. Levels of maxima and checkpoints
 * make any range of a million events cheap to draw. */

const LEVEL = 64; /* moments in a block of a level, and between checkpoints */

/** For each moment the highest of a range, found in three steps. */
class Maxima {
	/** @param {Float64Array} values */
	constructor(values) {
		this.levels = [values];
		this.best = [null];
		for (let below = null, count = values.length; count > LEVEL; count = below.length) {
			const blocks = Math.ceil(count / LEVEL);
			const best = new Uint32Array(blocks);

			for (let block = 0; block < blocks; block++) {
				let top = below ? below[block * LEVEL] : block * LEVEL;

				for (let i = block * LEVEL; i < Math.min(count, (block + 1) * LEVEL); i++) {
					const at = below ? below[i] : i;

					if (values[at] > values[top]) top = at;
				}
				best[block] = top;
			}
			this.best.push(best);
			below = best;
		}
		this.values = values;
	}

	/** The moment of the highest value. @param {number} first @param {number} last included @returns {number} */
	find(first, last, level = 0) {
		const values = this.values;
		const best = this.best[level];
		let top = best ? best[first] : first;
		const consider = (from, to) => {
			for (let i = from; i < to; i++) {
				const at = best ? best[i] : i;

				if (values[at] > values[top]) top = at;
			}
		};
		const start = Math.ceil(first / LEVEL);
		const end = Math.floor((last + 1) / LEVEL);

		if (level + 1 >= this.best.length || end - start < 2) {
			consider(first, last + 1);
			return top;
		}
		consider(first, start * LEVEL);
		const inner = this.find(start, end - 1, level + 1);

		if (values[inner] > values[top]) top = inner;
		consider(end * LEVEL, last + 1);
		return top;
	}
}

class History {
	/**
	 * @param {Snapshot} snapshot
	 * @param {{sorts: number, device: number, by: string}} choice sorts is a set of bits; device -1 = all
	 */
	constructor(snapshot, choice) {
		this.snapshot = snapshot;
		this.choice = choice;
		this.hidden = new Set(); /* bands */
		this.shown = new Uint8Array(snapshot.items.count);
		this.count();
		this.ranking = new Ranking(snapshot, choice.by, this.weights());
		this.light(null);
	}

	/* Which items are shown, and how much of them was alive. */
	count() {
		const { items, origins, events } = this.snapshot;
		const { sorts, device } = this.choice;
		const fits = Uint8Array.from(origins.sort, (sort, origin) =>
			(sorts >> sort) & 1 && !(this.ranking && this.hidden.has(this.ranking.band_of[origin])) ? 1 : 0,
		);

		for (let i = 0; i < items.count; i++)
			this.shown[i] = fits[items.origin[i]] && (device < 0 || items.device[i] === device) ? 1 : 0;
		this.total = this.sum();
		this.maxima = new Maxima(this.total);
		this.peak = this.maxima.find(0, events);
	}

	/* Bytes at the peak by origin, -1 for those that are not shown. */
	weights() {
		const { items, origins } = this.snapshot;
		const bytes = Moment.by_origin(this, this.peak);
		const seen = new Uint8Array(origins.count);

		for (let i = 0; i < items.count; i++) seen[items.origin[i]] |= this.shown[i];
		return bytes.map((value, origin) => (seen[origin] ? value : -1));
	}

	/** Bytes alive after each event. @returns {Float64Array} */
	sum() {
		const { snapshot, shown } = this;
		const { items, born_at, died_at, events } = snapshot;
		const { size, born, count } = items;
		const total = new Float64Array(events + 1);
		let now = 0;

		for (let i = 0; i < count && born[i] === 0; i++) now += shown[i] ? size[i] : 0;
		total[0] = now;
		for (let moment = 1; moment <= events; moment++) {
			const dead = died_at[moment];
			const alive = born_at[moment];

			if (dead >= 0 && shown[dead]) now -= size[dead];
			if (alive >= 0 && shown[alive]) now += size[alive];
			total[moment] = now;
		}
		return total;
	}

	/** Bands are hidden or shown. @param {Set<number>} hidden */
	hide(hidden) {
		this.hidden = hidden;
		this.count();
		this.light(this.lit);
	}

	/**
	 * Picks origins out: their bands come first, the others lie dimmed above. Slots are bands, twice when some are lit.
	 * @param {?Uint8Array} lit by origin; null = all alike
	 */
	light(lit) {
		const { snapshot, ranking } = this;
		const bands = ranking.names.length;

		this.lit = lit;
		this.slots = lit ? bands * 2 : bands;
		this.slot_of = Uint8Array.from(ranking.band_of, (band, origin) =>
			lit && !lit[origin] ? bands + band : band,
		);
		this.checkpoints = new Float64Array((Math.floor(snapshot.events / LEVEL) + 1) * this.slots);
		const sums = new Float64Array(this.slots);
		const { items } = snapshot;

		for (let i = 0; i < items.count && items.born[i] === 0; i++)
			if (this.shown[i]) sums[this.slot_of[items.origin[i]]] += items.size[i];
		for (let moment = 0; moment <= snapshot.events; moment++) {
			this.step(sums, moment);
			if (moment % LEVEL === 0) this.checkpoints.set(sums, (moment / LEVEL) * this.slots);
		}
	}

	/** From the moment before to this one. @param {Float64Array} sums by slot @param {number} moment */
	step(sums, moment) {
		const { items, born_at, died_at } = this.snapshot;
		const dead = died_at[moment];
		const born = born_at[moment];

		if (dead >= 0 && this.shown[dead]) sums[this.slot_of[items.origin[dead]]] -= items.size[dead];
		if (born >= 0 && this.shown[born]) sums[this.slot_of[items.origin[born]]] += items.size[born];
	}

	/**
	 * Moves sums on to a later moment, by a checkpoint where that is nearer.
	 * @param {Float64Array} sums by slot
	 * @param {number} from the moment they are of; -1 = none
	 * @param {number} to
	 */
	advance(sums, from, to) {
		const checkpoint = Math.floor(to / LEVEL);

		if (from < checkpoint * LEVEL) {
			const at = checkpoint * this.slots;

			for (let slot = 0; slot < this.slots; slot++) sums[slot] = this.checkpoints[at + slot];
			from = checkpoint * LEVEL;
		}
		for (let moment = from + 1; moment <= to; moment++) this.step(sums, moment);
	}

	/** @param {number} slot @returns {number} */
	band_of_slot(slot) {
		return slot % this.ranking.names.length;
	}
}

/** What the allocator held, and what of it was freed and still pending, after each event. */
class Holding {
	/** @param {Snapshot} snapshot @param {number} device -1 = all */
	constructor(snapshot, device) {
		const { items, extents, events } = snapshot;
		const { died, done, size } = items;
		const held = (this.held = new Float64Array(events + 1));
		const pending = (this.pending = new Float64Array(events + 1));

		for (let i = 0; i < extents.count; i++) {
			if (device >= 0 && extents.device[i] !== device) continue;
			held[extents.born[i]] += extents.size[i];
			if (extents.died[i] !== NEVER) held[extents.died[i]] -= extents.size[i];
		}
		for (let i = 0; i < items.count; i++) {
			if (done[i] === died[i] || (device >= 0 && items.device[i] !== device)) continue;
			pending[died[i]] += size[i];
			if (done[i] !== NEVER) pending[done[i]] -= size[i];
		}
		for (let moment = 1; moment <= events; moment++) {
			held[moment] += held[moment - 1];
			pending[moment] += pending[moment - 1];
		}
		this.maxima = new Maxima(this.held);
		this.peak = this.maxima.find(0, events);
	}
}
