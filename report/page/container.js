"use strict";
/* What gpushim-report put into the page: base64 of a deflated header and columns of LEB128 integers (report/html_pack.h). */

class Container {
	/** @param {Uint8Array} bytes unpacked */
	constructor(bytes) {
		const length = new DataView(bytes.buffer).getUint32(0, true);

		this.bytes = bytes;
		this.start = 4 + length;
		this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, this.start)));
	}

	/** @param {string} base64 @returns {Promise<Container>} */
	static async unpack(base64) {
		const packed = Container.decode(base64);
		const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));

		return new Container(new Uint8Array(await new Response(stream).arrayBuffer()));
	}

	/** @param {string} base64 @returns {Uint8Array} */
	static decode(base64) {
		if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
		const text = atob(base64);
		const bytes = new Uint8Array(text.length);

		for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
		return bytes;
	}

	/** A column of integers that may be negative. @param {string} name @returns {Float64Array} */
	signed(name) {
		return this.column(name, Float64Array).map((value) => (value % 2 ? -(value + 1) / 2 : value / 2));
	}

	/** @param {string} name @returns {number} */
	rows(name) {
		return this.header.columns[name][1];
	}

	/**
	 * A column as an array of this type, which must hold its values.
	 * @param {string} name
	 * @param {Function} [type]
	 */
	column(name, type = Uint32Array) {
		const [offset, count] = this.header.columns[name];
		const bytes = this.bytes;
		const values = new type(count);
		let at = this.start + offset;

		for (let i = 0; i < count; i++) {
			let byte = bytes[at++];
			let value = byte & 127;

			for (let scale = 128; byte > 127; scale *= 128) {
				byte = bytes[at++];
				value += (byte & 127) * scale;
			}
			values[i] = value;
		}
		return values;
	}
}
