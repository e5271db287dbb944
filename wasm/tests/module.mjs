// The module without a browser: what a worker does with it, as plain functions.

import { readFile } from "node:fs/promises";
import { lanes } from "../lanes.js";

const MODULE = process.env.PANZA_WASM ??
  new URL("../../target-wasm/panza.wasm", import.meta.url).pathname;

let compiled;

/**
 * A module that has begun, with `kept`, a map of files by name, which it changes, and with a number of
 * companions.
 */
export async function begin(kept = new Map(), companions = 0) {
  compiled ??= await WebAssembly.compile(await readFile(MODULE));
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let exports;
  let problem = null;
  const bytes = (place, length) => new Uint8Array(exports.memory.buffer, place, length);
  const text = (place, length) => decoder.decode(bytes(place, length));
  const instance = await WebAssembly.instantiate(compiled, {
    panza: {
      ...lanes(() => exports),
      passed: () => performance.now(),
      date: () => Date.now(),
      keep: (name, nameLength, place, length) => {
        kept.set(text(name, nameLength), bytes(place, length).slice());
      },
      forget: (name, length) => kept.delete(text(name, length)),
      ended: (place, length) => {
        problem = text(place, length);
      },
    },
  });
  exports = instance.exports;

  /** Writes a text and what follows it where the module reads them. Returns the text's length. */
  const give = (first, rest) => {
    const start = encoder.encode(first);
    const end = typeof rest === "string" ? encoder.encode(rest) : rest;
    const place = exports.panza_room(start.length + end.length);
    bytes(place, start.length).set(start);
    bytes(place + start.length, end.length).set(end);
    return start.length;
  };
  const reply = () => ({
    status: exports.panza_status(),
    type: text(exports.panza_type(), exports.panza_type_length()),
    body: text(exports.panza_body(), exports.panza_body_length()),
  });
  for (const [name, value] of kept) {
    exports.panza_kept(give(name, value));
  }
  if (exports.panza_new(companions) !== 0) {
    throw new Error(reply().body);
  }

  const waiting = new Map();
  const work = (milliseconds = 10) => {
    const rest = exports.panza_work(milliseconds);
    for (let key = exports.panza_finished(); key !== 0; key = exports.panza_finished()) {
      waiting.get(key)?.(reply());
      waiting.delete(key);
    }
    return rest;
  };
  /** The reply to a request; the module works while it waits. */
  const ask = async (method, address, body = "") => {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const key = exports.panza_request(method === "POST" ? 1 : 0, give(address, sent));
    if (key === 0) {
      return reply();
    }
    let found = null;
    waiting.set(key, (answer) => {
      found = answer;
    });
    while (found === null) {
      const rest = work();
      await new Promise((resolve) => setTimeout(resolve, Math.min(rest, 20)));
    }
    return found;
  };
  /** The same for a reply in JSON, which must be there. */
  const json = async (method, address, body) => {
    const found = await ask(method, address, body);
    if (found.status !== 200) {
      throw new Error(`${method} ${address}: ${found.status} ${found.body}`);
    }
    return JSON.parse(found.body);
  };
  return {
    ask,
    json,
    work,
    get: (address) => json("GET", address),
    post: (address, body) => json("POST", address, body),
    /** The bytes of all memory. */
    size: () => exports.memory.buffer.byteLength,
    /** The text of the panic that ended it. */
    problem: () => problem,
  };
}

/** The first view of a table that fits. */
export async function view(host, table, fits) {
  let seen = await host.get(`/api/tables/${table}`);
  while (!fits(seen)) {
    seen = await host.get(`/api/tables/${table}?after=${seen.version}`);
  }
  return seen;
}

/** Numbers below `n`, the same in every run. */
export function random(seed) {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}
