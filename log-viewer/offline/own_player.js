// Panza in the page that plays in Gamemaster, in place of a server: the module in a worker takes the
// messages that `gamemaster.js` passes on. A worker that has ended is started again with the next
// message. The new worker first gets the START of the match and every PLAY so far.

import { Panza } from "./panza.js";
import { Store } from "./store.js";

/** @import { OwnPlayer, Relayed } from "../types.d.ts" */

/** The part of the play clock in which a worker that is started again prepares itself. */
const PREPARING = 0.7;
/** Messages that are answered too late one after the other before a worker is started again. */
const MOST_LATE = 2;

/** The module in a worker. The page's clocks say when it is late, since a study takes long. */
class Module extends Panza {
  /** @override */
  look() {}
}

/** @implements {OwnPlayer} */
class Player {
  /** @param {(name: string) => string} part a text of the file by its name */
  constructor(part) {
    /** Why the last worker has ended. */
    this.problem = "";
    const says = (/** @type {string} */ problem) => (this.problem = problem.replace(/\.$/u, ""));
    // Nothing of a match is kept.
    const store = new Store(null, new Map(), new Map());
    this.module = new Module({ script: part("worker"), module: part("module"), store, says });
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
    if (word === "start" && this.module.missing.size > 0) this.restart();
    const isNew = this.module.worker === null;
    if (isNew) this.module.start();
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
  send(message) {
    // The module may be in the middle of a step.
    const body = JSON.stringify({ ...message, sent_at: Date.now() });
    return this.module.answer("/gamemaster/message", { method: "POST", body });
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
