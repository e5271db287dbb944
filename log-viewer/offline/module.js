// The module of Panza, as JavaScript calls it. Texts are UTF-8 and cross in a room of the module's
// memory; `wasm/README.md` has its functions.

import { lanes } from "../../wasm/lanes.js";

/** @import { Change, Module, Reply } from "./messages.d.ts" */

/**
 * @typedef {object} Exports what `wasm` exports
 * @property {WebAssembly.Memory} memory
 * @property {(length: number) => number} panza_room
 * @property {(nameLength: number) => void} panza_kept
 * @property {(companions: number) => number} panza_new
 * @property {(isPost: number, addressLength: number) => number} panza_request
 * @property {() => number} panza_finished
 * @property {(milliseconds: number) => number} panza_work
 * @property {() => number} panza_status
 * @property {() => number} panza_type
 * @property {() => number} panza_type_length
 * @property {() => number} panza_body
 * @property {() => number} panza_body_length
 */

/**
 * Starts the module with what was kept. `keep` is called with what is to be kept from now on, or null
 * where nothing is. `companions` is the number of other modules that search its match. A function of
 * the module that fails throws what the module said, and no other may be called after it.
 * @param {ArrayBuffer} bytes
 * @param {[name: string, text: string][]} kept
 * @param {(...change: Change) => void} keep
 * @param {number} companions
 * @returns {Promise<Module>}
 */
export async function open(bytes, kept, keep, companions) {
  const [coder, decoder] = [new TextEncoder(), new TextDecoder()];
  /** The last words of the module; "" before it has failed. */
  let last = "";
  /** @type {(place: number, length: number) => string} */
  const text = (place, length) => decoder.decode(new Uint8Array(panza.memory.buffer, place, length));
  /** @type {WebAssembly.ModuleImports} */
  const imports = {
    ...lanes(() => instance.exports),
    passed: () => performance.now(),
    date: () => Date.now(),
    /** @type {(name: number, nameLength: number, place: number, length: number) => void} */
    keep: (name, nameLength, place, length) => keep(text(name, nameLength), text(place, length)),
    /** @type {(name: number, nameLength: number) => void} */
    forget: (name, nameLength) => keep(text(name, nameLength), null),
    /** @type {(place: number, length: number) => void} */
    ended: (place, length) => {
      last = text(place, length);
    },
  };
  const { instance } = await WebAssembly.instantiate(bytes, { panza: imports });
  const panza = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports));

  /**
   * Calls the module; where it fails, its last words say more than the browser.
   * @param {() => number} act
   */
  const call = (act) => {
    try {
      return act();
    } catch (problem) {
      throw last === "" ? problem : new Error(last);
    }
  };
  /**
   * Writes two texts one after the other, and returns the length of the first in bytes.
   * @param {string} first
   * @param {string} second
   */
  const write = (first, second) => {
    const parts = [coder.encode(first), coder.encode(second)];
    const place = call(() => panza.panza_room(parts[0].length + parts[1].length));
    // Making room may have moved the memory.
    const memory = new Uint8Array(panza.memory.buffer);
    memory.set(parts[0], place);
    memory.set(parts[1], place + parts[0].length);
    return parts[0].length;
  };
  /** @returns {Reply} */
  const reply = () => ({
    status: panza.panza_status(),
    type: text(panza.panza_type(), panza.panza_type_length()),
    body: new Uint8Array(panza.memory.buffer, panza.panza_body(), panza.panza_body_length()).slice(),
  });

  for (const [name, content] of kept) {
    const length = write(name, content);
    call(() => (panza.panza_kept(length), 0));
  }
  if (call(() => panza.panza_new(companions)) !== 0) throw new Error(decoder.decode(reply().body));
  return {
    request(method, address, body) {
      const length = write(address, body);
      const key = call(() => panza.panza_request(method === "POST" ? 1 : 0, length));
      return key === 0 ? reply() : key;
    },
    work: (milliseconds) => call(() => panza.panza_work(milliseconds)),
    finished() {
      const key = call(() => panza.panza_finished());
      return key === 0 ? null : { key, ...reply() };
    },
  };
}
