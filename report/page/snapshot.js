"use strict";
/* A snapshot as the page uses it. An item is one allocation; moments are numbered by the events before them, so that
 * moment 0 is before the first event. What is alive at moment m was born at m or before and dies after m. */

const NEVER = 0xffffffff;

class Snapshot {
	/** @param {Container} container */
	constructor(container) {
		const header = container.header;

		this.header = header;
		this.meta = header.meta;
		this.texts = header.texts.map(Format.name);
		this.frames = {
			place: container.column("frame_place"),
			function: container.column("frame_function"),
			kind: container.column("frame_kind", Uint8Array),
		};
		this.stacks = {
			parent: container.column("stack_parent"),
			frame: container.column("stack_frame"),
			line: container.column("stack_line"),
		};
		this.origins = {
			count: container.rows("origin_sort"),
			sort: container.column("origin_sort", Uint8Array),
			stack: container.column("origin_stack"),
			thread: container.column("origin_thread"),
			category: container.column("origin_category"),
		};
		this.read_times(container);
		this.read_items(container);
		this.read_extents(container);
		this.read_steps(container);
		this.elapsed_ns = Math.max(header.meta.elapsed_ns, this.times[this.events]);
	}

	read_times(container) {
		const deltas = container.column("event_time", Float64Array);

		this.events = deltas.length;
		this.times = new Float64Array(this.events + 1);
		for (let i = 0; i < this.events; i++) this.times[i + 1] = (i > 0 ? this.times[i] : 0) + deltas[i];
		if (!this.header.history_complete && this.events > 0) this.times[0] = this.times[1];
	}

	read_items(container) {
		const born = container.column("item_born");
		const died = container.column("item_life", Float64Array);
		const done = container.column("item_done", Float64Array);
		const address = container.signed("item_address");
		const count = born.length;
		const items = {
			count,
			born,
			address,
			size: container.column("item_size", Float64Array),
			origin: container.column("item_origin"),
			device: container.column("item_device", Uint8Array),
			died: new Uint32Array(count),
			done: new Uint32Array(count),
		};

		this.born_at = new Int32Array(this.events + 1).fill(-1);
		this.died_at = new Int32Array(this.events + 1).fill(-1);
		for (let i = 0; i < count; i++) {
			address[i] += i > 0 ? address[i - 1] : 0;
			born[i] += i > 0 ? born[i - 1] : 0;
			items.died[i] = died[i] === 0 ? NEVER : born[i] + died[i] - 1;
			items.done[i] = done[i] === 0 ? NEVER : items.died[i] + done[i] - 1;
			if (born[i] > 0) this.born_at[born[i]] = i;
			if (items.died[i] !== NEVER) this.died_at[items.died[i]] = i;
		}
		this.items = items;
		this.piece = this.piece_of(items);
	}

	/* The sort that segments are cut into: blocks, or, where another tool made the snapshot, tensors. */
	piece_of(items) {
		const { sorts } = this.header;
		const blocks = sorts.indexOf("block");

		return items.origin.some((origin) => this.origins.sort[origin] === blocks)
			? blocks
			: sorts.indexOf("tensor");
	}

	read_extents(container) {
		const born = container.column("extent_born");
		const life = container.column("extent_life", Float64Array);

		this.extents = {
			count: born.length,
			born,
			address: container.column("extent_address", Float64Array),
			size: container.column("extent_size", Float64Array),
			device: container.column("extent_device", Uint8Array),
			died: Uint32Array.from(life, (value, i) => (value === 0 ? NEVER : born[i] + value - 1)),
		};
	}

	/** Whether gpushim made it: others do not record what the host waits for and launches. @returns {boolean} */
	get is_own() {
		return this.meta.settings.watch !== undefined;
	}

	/* Steps of the main loop, by time; ns. */
	read_steps(container) {
		const column = (name) => container.signed("step_" + name);
		const [number, time, wall, launches, launch, queue, wait, memory, load, device] = [
			"number",
			"time",
			"wall",
			"launches",
			"launch_ns",
			"queue_ns",
			"wait_ns",
			"memory_ns",
			"load_ns",
			"device_ns",
		].map(column);

		this.loop = this.header.loops[0];
		this.steps = Array.from(number, (_, i) => ({
			number: number[i],
			time_ns: time[i],
			wall_ns: wall[i],
			launches: launches[i],
			queue: queue[i],
			launch: Math.max(0, launch[i] - queue[i]),
			wait: wait[i],
			memory: memory[i],
			load: load[i],
			device: device[i],
		})).sort((a, b) => a.time_ns - b.time_ns);
	}

	/** When the recorded history begins. @returns {number} ns */
	get start_ns() {
		return this.times[0];
	}

	/** The last moment that is not after this time. @param {number} time_ns @returns {number} */
	moment_at(time_ns) {
		const times = this.times;
		let low = 0;
		let high = this.events;

		while (low < high) {
			const middle = (low + high + 1) >>> 1;

			if (times[middle] <= time_ns) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	/** @param {number} frame @returns {string} such as "net/model.py:41 in forward" */
	place(frame) {
		return this.texts[this.frames.place[frame]];
	}

	/** @param {number} frame @returns {string} such as "forward (net/model.py)" */
	function_of(frame) {
		return this.texts[this.frames.function[frame]];
	}

	/** The line that stands for a stack, as a number that equal lines have in common. @param {number} stack @returns {number} */
	line(stack) {
		return this.frames.place[this.stacks.line[stack]];
	}

	/** @param {number} stack @returns {string} */
	line_of(stack) {
		return this.texts[this.line(stack)];
	}

	/** @param {number} stack @returns {number[]} innermost first */
	frames_of(stack) {
		const frames = [];

		for (; stack > 0; stack = this.stacks.parent[stack])
			if (this.stacks.frame[stack] > 0) frames.push(this.stacks.frame[stack]);
		return frames;
	}

	/** Whether a frame says little (PyTorch's core, CUDA's libraries, the C library). @returns {boolean} */
	is_core(frame) {
		return (this.frames.kind[frame] & 1) !== 0;
	}

	/** @param {number} tid @returns {string} */
	thread(tid) {
		const found = this.header.threads.find((thread) => thread.tid === tid);

		return found ? Format.name(found.name) + " (" + tid + ")" : String(tid);
	}

	/** @param {number} device @returns {string} */
	device(device) {
		return device === 255 ? "host" : "GPU " + device;
	}
}
