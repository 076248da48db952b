// The other half of pwlab/viz/dashboard/encode.py: chunks of columns, and snapshots.

import { f4, f8, i4, u1, u2, u4 } from "./columns.js";

/** @type {Record<string, any>} */
const TYPES = { "u1": u1, "u2": u2, "u4": u4, "i4": i4, "f4": f4, "f8": f8 };

/**
 * A chunk's tables: name → {rows, columns}.
 * @param {any} header
 * @param {ArrayBuffer | DataView | Uint8Array} data
 */
export function decode(header, data) {
  const view = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  // Columns begin at multiples of eight bytes of the chunk, which need not be such of its buffer.
  const bytes = view.byteOffset % 8 ? view.slice() : view;
  /** @type {Record<string, any>} */
  const tables = {};
  for (const name in header.tables) {
    const { rows, cols } = header.tables[name];
    /** @type {Record<string, any>} */
    const table = { rows };
    for (const key in cols) {
      const [type, at] = cols[key];
      table[key] = new TYPES[type](bytes.buffer, bytes.byteOffset + at, rows);
    }
    tables[name] = table;
  }
  return tables;
}

/** The batch in a snapshot: what the pump would have sent, and its buffers. */
export async function unpack(/** @type {DataView | Uint8Array} */ packed) {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const flat = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 4 + new DataView(flat.buffer).getUint32(0, true);
  const batch = JSON.parse(new TextDecoder().decode(flat.subarray(4, at)));
  const buffers = batch.chunks.map((/** @type {any} */ chunk) => {
    at += chunk.bytes;
    return flat.slice(at - chunk.bytes, at);
  });
  return { batch, buffers };
}
