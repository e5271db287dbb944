// Panza in a Web Worker. The page sends the module and what the browser keeps, then requests with
// the addresses of the server. Between messages the module works in slices of 10 ms, so that no
// request waits long for an answer.
//
// A module that has trapped cannot be used again: the worker posts the reason, and the page starts
// another worker.

import { messageOf } from "../format.js";
import { open } from "./module.js";

/** @import { Change, FromWorker, Module, Reply, Request, Start } from "./messages.d.ts" */

/** Milliseconds of a slice of work. */
const SLICE = 10;
/** Milliseconds after which a module that has nothing to do is asked again, at most. */
const LONGEST_REST = 1000;

const own = {
  /** @type {Module | null} */
  module: null,
  /** @type {number | undefined} */
  timer: undefined,
  /** Whether the next slice is on its way. */
  isNext: false,
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
  /**
   * What is to be kept and was not posted yet.
   * @type {Change[]}
   */
  kept: [],
};

/** Brings the next slice about at once, but behind messages that have come meanwhile. */
const next = new MessageChannel();
next.port1.onmessage = () => {
  own.isNext = false;
  attempt(work);
};

function soon() {
  clearTimeout(own.timer);
  if (!own.isNext) next.port2.postMessage(null);
  own.isNext = true;
}

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
    post({ ended: messageOf(problem) });
  }
  tell();
}

/** Posts what is to be kept: always before what follows from it, since the page may go then. */
function tell() {
  if (own.kept.length > 0) post({ kept: own.kept.splice(0) });
}

/** @param {Start} what */
async function start({ module, kept, companions }) {
  own.module = await open(await unpacked(module), kept, (...change) => own.kept.push(change), companions);
  for (const request of own.early.splice(0)) ask(request);
  soon();
}

/** @param {Request} request */
function ask({ id, method, address, body }) {
  const reply = own.module?.request(method, address, body);
  if (typeof reply === "number") own.waiting.set(reply, id);
  else if (reply !== undefined) answer(id, reply);
}

/** A slice of work, and what has been waited for. */
function work() {
  const { module } = own;
  if (module === null) return;
  const rest = module.work(SLICE);
  for (let found = module.finished(); found !== null; found = module.finished()) {
    const id = own.waiting.get(found.key);
    own.waiting.delete(found.key);
    if (id !== undefined) answer(id, found);
  }
  if (rest <= 0) soon();
  else own.timer = setTimeout(soon, Math.min(rest, LONGEST_REST));
}

/**
 * @param {number} id
 * @param {Reply} reply
 */
function answer(id, { status, type, body }) {
  tell();
  post({ id, status, type, body }, [body.buffer]);
}

/**
 * The bytes that a text in base64 holds, unpacked.
 * @param {string} packed
 */
function unpacked(packed) {
  const letters = atob(packed);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

self.onmessage = ({ data }) =>
  attempt(async () => {
    if ("isAlive" in data) {
      work();
      tell();
      post(data);
    } else if ("module" in data) await start(data);
    else if (own.module === null) own.early.push(data);
    else {
      ask(data);
      soon();
    }
  });
