// Panza in a worker, as the page sees it: requests as to a server, and answers. A worker that has
// failed is terminated; a new one starts with the texts that were kept.

/** @import { FromPage, FromWorker } from "./messages.d.ts" */
/** @import { Store } from "./store.js" */

/** Milliseconds that are waited for orders before the page goes. */
const PATIENCE = 500;
/**
 * Milliseconds between two looks whether the worker is alive, and looks without a sign of life after
 * which it is given up. A game that is trained first is one step of up to a minute.
 */
const LOOK = 5000;
const MOST_UNHEARD = 30;

export class Panza {
  /**
   * @param {{ script: string, module: string, store: Store, says: (problem: string) => void, companions?: number }} parts
   *   the text of the worker, its module (gzip in base64), what is kept, a function that shows a
   *   failure, and the number of other modules that search its match
   */
  constructor({ script, module, store, says, companions = 0 }) {
    this.script = script;
    this.module = module;
    this.store = store;
    this.says = says;
    this.companions = companions;
    /** @type {Worker | null} */
    this.worker = null;
    this.asked = 0;
    /**
     * What becomes of the answers that are missing, by the number of their request.
     * @type {Map<number, { resolve: (answer: Response) => void, reject: (problem: Error) => void }>}
     */
    this.missing = new Map();
    /**
     * The answers to orders that are missing.
     * @type {Set<Promise<Response>>}
     */
    this.orders = new Set();
    this.isKept = true;
    /** How many looks ago the worker gave the last sign of life. */
    this.unheard = 0;
    /** Called at the next sign of life. */
    this.seesLife = () => {};
    setInterval(() => this.look(), LOOK);
  }

  /** Starts a worker. */
  start() {
    const address = URL.createObjectURL(new Blob([this.script], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => this.hear(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.fail(event.message ?? "its worker could not be started");
    };
    this.worker = worker;
    this.unheard = 0;
    this.send({ module: this.module, kept: this.store.all(), companions: this.companions });
    worker.addEventListener("message", () => URL.revokeObjectURL(address), { once: true });
  }

  /** Sees that the worker still answers. */
  look() {
    this.unheard += 1;
    if (this.unheard > MOST_UNHEARD) this.fail("it has not answered for minutes");
    this.send({ isAlive: true });
  }

  /** @param {FromPage} message */
  send(message) {
    this.worker?.postMessage(message);
  }

  /** @param {FromWorker} message */
  hear(message) {
    if ("id" in message) {
      const { status, type, body } = message;
      this.missing.get(message.id)?.resolve(new Response(body, { status, headers: { "Content-Type": type } }));
      this.missing.delete(message.id);
    } else if ("kept" in message) {
      this.store.keep(message.kept).catch(() => {
        if (this.isKept) this.says("This browser has no room to keep more: games and studies of now are lost with this page. Save them as a file on the page “Play”.");
        this.isKept = false;
      });
    } else if ("ended" in message) this.fail(message.ended);
    else {
      this.unheard = 0;
      this.seesLife();
    }
  }

  /**
   * The worker is of no more use: what it was asked is not answered.
   * @param {string} why
   */
  fail(why) {
    if (this.worker === null) return;
    this.worker.terminate();
    this.worker = null;
    for (const { reject } of this.missing.values()) reject(new Error("the worker has ended"));
    this.missing.clear();
    this.says(`Panza has stopped: ${why}.`);
  }

  /** Resolves when what a person did has reached Panza and is kept, or after a moment. */
  async settled() {
    const done = async () => {
      await Promise.allSettled(this.orders);
      // What was done before is kept before the answer.
      const answer = new Promise((/** @type {(value: void) => void} */ resolve) => (this.seesLife = resolve));
      this.send({ isAlive: true });
      await answer;
    };
    await Promise.race([done(), new Promise((after) => setTimeout(after, PATIENCE))]);
    await this.store.written;
  }

  /**
   * The answer to a request.
   * @param {string} address
   * @param {RequestInit} options
   * @returns {Promise<Response>}
   */
  answer(address, { method = "GET", body = "" }) {
    if (this.worker === null) return Promise.reject(new Error("there is no worker"));
    this.asked += 1;
    const id = this.asked;
    /** @type {Promise<Response>} */
    const answer = new Promise((resolve, reject) => this.missing.set(id, { resolve, reject }));
    this.send({ id, method, address, body: String(body) });
    if (method === "POST") {
      this.orders.add(answer);
      answer.catch(() => {}).finally(() => this.orders.delete(answer));
    }
    return answer;
  }
}
