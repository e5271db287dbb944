// Panza in the page that plays in Gamemaster, in place of a server: the module in a worker takes the
// messages that `gamemaster.js` passes on. A worker that has ended is started again with the next
// message. The new worker first gets the START of the match and every PLAY so far.
//
// Where the machine has processors for it, companions search the match too, each a module in a worker
// of its own. Workers of a file share no memory, so the page carries orders to companions, and what
// they know of the moves back, where it is added up.

import { Panza } from "./panza.js";
import { Store } from "./store.js";

/** @import { OwnPlayer, Relayed } from "../types.d.ts" */

/** The part of the play clock in which a worker that is started again prepares itself. */
const PREPARING = 0.7;
/** Messages that are answered too late one after the other before a worker is started again. */
const MOST_LATE = 2;
/** Companions, at most: each takes as much memory as the player. */
const MOST_COMPANIONS = 2;

/** The module in a worker. The page's clocks say when it is late, since a study takes long. */
class Module extends Panza {
  /** @override */
  look() {}
}

/** How many companions this machine has processors for, beside the pages of the other players. */
function companionsHere() {
  return Math.min(MOST_COMPANIONS, Math.max(0, Math.floor(navigator.hardwareConcurrency / 2) - 1));
}

/** @implements {OwnPlayer} */
class Player {
  /** @param {(name: string) => string} part a text of the file by its name */
  constructor(part) {
    /** Why the last worker has ended. */
    this.problem = "";
    const says = (/** @type {string} */ problem) => (this.problem = problem.replace(/\.$/u, ""));
    // Nothing of a match is kept.
    const parts = { script: part("worker"), module: part("module"), store: new Store(null, new Map(), new Map()) };
    const companions = companionsHere();
    this.module = new Module({ ...parts, says, companions });
    /** Their ends cost nothing but what they would have found. */
    this.companions = Array.from({ length: companions }, () => new Module({ ...parts, says() {} }));
    /** Messages that have no answer yet. */
    this.nAsked = 0;
    /**
     * The messages of the match so far, START first.
     * @type {Relayed[]}
     */
    this.told = [];
    /** How many of the last messages were not answered in time. */
    this.nLate = 0;
  }

  /**
   * @param {Relayed} message
   * @returns {Promise<{ status: number, text: string }>}
   */
  async ask(message) {
    const [word] = /^\w+/u.exec(message.content.trim()) ?? [""];
    // What a study of the match before has still to do would delay this one.
    if (word === "start" && this.nAsked > 0) this.restart();
    const isNew = this.module.worker === null;
    if (isNew) this.begin();
    if (word === "start") this.told = [message];
    if (word === "play") {
      this.told = [...this.told.filter(({ number }) => number !== message.number), message];
      if (isNew) this.tellAgain();
    }
    if (word === "stop" || word === "abort") this.told = [];
    try {
      const answer = await this.send(message);
      if (message === this.told.at(-1)) this.nLate = 0;
      return { status: answer.status, text: await answer.text() };
    } catch {
      throw new Error(this.problem);
    }
  }

  /** Sends a new worker the START and every PLAY but the last, which follows. */
  tellAgain() {
    const [start, ...plays] = this.told.slice(0, -1);
    if (start === undefined) return;
    const content = start.content.replace(/,[^,()]+,([^,()]+)\)\s*$/u, (_, clock) => `,${PREPARING * Number(clock)},${clock})`);
    for (const message of [{ ...start, content }, ...plays]) this.send({ ...message, waited: 0 }).catch(() => {});
  }

  /** @param {Relayed} message */
  async send(message) {
    // The module may be in the middle of a step.
    const body = JSON.stringify({ ...message, sent_at: Date.now() });
    this.nAsked += 1;
    try {
      return await this.module.answer("/gamemaster/message", { method: "POST", body });
    } finally {
      this.nAsked -= 1;
    }
  }

  /** Starts the worker, and those of the companions. */
  begin() {
    this.module.start();
    for (const [number, companion] of this.companions.entries()) {
      companion.fail("the player begins anew");
      companion.start();
      const { worker } = companion;
      const at = `/companions/${number}`;
      const both = [this.carry(this.module, at, companion, "/companion"), this.carry(companion, "/companion", this.module, at)];
      // Where one of the two has ended, this worker is of no use, but the next one may run already.
      Promise.all(both).catch(() => companion.worker === worker && companion.fail("the player has ended"));
    }
  }

  /**
   * Passes on what a module has for another, until one of them ends.
   * @param {Panza} from
   * @param {string} there
   * @param {Panza} to
   * @param {string} here
   */
  async carry(from, there, to, here) {
    for (;;) {
      const answer = await from.answer(there, {});
      if (!answer.ok) throw new Error(await answer.text());
      await to.answer(here, { method: "POST", body: await answer.text() });
    }
  }

  /** A module that was late once goes on: it would begin with the rules again. */
  isLate() {
    this.nLate += 1;
    if (this.nLate >= MOST_LATE) this.restart();
  }

  restart() {
    this.nLate = 0;
    this.module.fail("it did not answer in time");
  }
}

globalThis.ownPlayer = new Player((name) => document.getElementById(name)?.textContent ?? "");
