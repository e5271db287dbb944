// Panza in a Web Worker. The page sends the module and what the browser keeps, then requests with the
// addresses of the server. Between messages the module works in short slices, so that no request
// waits long for an answer.
//
// A module that fails cannot be used again: the page is told why, and starts another worker.

import { open } from "panza";

/** @import { FromWorker, Module, Reply, Request, Start } from "./messages.d.ts" */

/** Milliseconds of a slice of work. */
const SLICE = 10;
/** Milliseconds after which a module that has nothing to do is asked again. */
const LONGEST_REST = 250;

const own = {
  /** @type {Module | null} */
  module: null,
  /** @type {number | undefined} */
  timer: undefined,
  /**
   * The requests whose answers come later, by the key of the answer.
   * @type {Map<number, number>}
   */
  waiting: new Map(),
  /**
   * Requests that came before the module was there.
   * @type {Request[]}
   */
  early: [],
};

/** Brings the next slice about at once, but behind messages that have come meanwhile. */
const next = new MessageChannel();
next.port1.onmessage = () => attempt(work);

/**
 * @param {FromWorker} message
 * @param {Transferable[]} [moved]
 */
function post(message, moved = []) {
  // @ts-expect-error the types are those of a window
  self.postMessage(message, moved);
}

/**
 * Does something with the module; if that fails, this worker is of no more use.
 * @param {() => unknown} act
 */
async function attempt(act) {
  try {
    await act();
  } catch (problem) {
    own.module = null;
    post({ ended: problem instanceof Error ? problem.message : String(problem) });
  }
}

/** @param {Start} what */
async function start({ module, kept }) {
  own.module = await open(await unpacked(module), kept, (changes) => post({ kept: changes }));
  for (const request of own.early.splice(0)) ask(request);
}

/** @param {Request} request */
function ask({ id, method, address, body }) {
  const reply = own.module?.request(method, address, body);
  if (typeof reply === "number") own.waiting.set(reply, id);
  else if (reply !== undefined) answer(id, reply);
  work();
}

/** A slice of work, and what has been waited for. */
function work() {
  const { module } = own;
  if (module === null) return;
  const rest = module.work(SLICE);
  for (const { key, ...reply } of module.finished()) {
    const id = own.waiting.get(key);
    own.waiting.delete(key);
    if (id !== undefined) answer(id, reply);
  }
  clearTimeout(own.timer);
  if (rest <= 0) next.port2.postMessage(null);
  else own.timer = setTimeout(() => attempt(work), Math.min(rest, LONGEST_REST));
}

/**
 * @param {number} id
 * @param {Reply} reply
 */
function answer(id, { status, type, body }) {
  post({ id, status, type, body }, [body.buffer]);
}

/**
 * The bytes that a text in base64 holds, unpacked.
 * @param {string} packed
 */
async function unpacked(packed) {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

self.onmessage = ({ data }) =>
  attempt(() => {
    if ("module" in data) return start(data);
    if (own.module === null) own.early.push(data);
    else ask(data);
    return undefined;
  });
