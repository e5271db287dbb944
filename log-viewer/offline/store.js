// What the browser keeps of Panza's own: texts by name, in a database of the browser (IndexedDB).
// Where the browser has none for this page, as in some private windows, they last as long as its tab,
// in the state of its history, and the page says so.

/** @import { Change } from "./messages.d.ts" */

const DATABASE = "panza";
const TEXTS = "texts";

/**
 * A request to the database, as a promise.
 * @template Result
 * @param {IDBRequest<Result>} request
 * @returns {Promise<Result>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export class Store {
  /**
   * @param {IDBDatabase | null} database
   * @param {Map<string, string>} texts
   * @param {Map<string, number>} times
   */
  constructor(database, texts, times) {
    /** Null where nothing is kept for longer than this page. */
    this.database = database;
    /** All texts by their names, so that a worker that is started again gets them at once. */
    this.texts = texts;
    /** When each was kept, in milliseconds. */
    this.times = times;
    /** Resolves when all that was kept so far has been written. */
    this.written = Promise.resolve();
  }

  /** Opens the store of this browser. */
  static async open() {
    try {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TEXTS);
      const database = await done(request);
      const texts = database.transaction(TEXTS).objectStore(TEXTS);
      const [names, values] = await Promise.all([done(texts.getAllKeys()), done(texts.getAll())]);
      const [all, times] = [new Map(), new Map()];
      for (const [place, name] of names.entries()) {
        all.set(String(name), String(values[place].text));
        times.set(String(name), Number(values[place].at));
      }
      return new Store(database, all, times);
    } catch {
      return new Store(null, new Map(history.state?.texts), new Map());
    }
  }

  /** Hands everything on to this page when it is loaded again, where there is no database. */
  carry() {
    if (this.database === null) history.replaceState({ texts: [...this.texts] }, "");
  }

  /**
   * All texts, the ones that were kept first at first: Panza drops the oldest where there are many.
   * @returns {[name: string, text: string][]}
   */
  all() {
    return [...this.texts].sort(([one], [other]) => (this.times.get(one) ?? 0) - (this.times.get(other) ?? 0));
  }

  /**
   * Keeps a text under a name in place of the one before; with null nothing is kept there.
   * @param {Change[]} changes
   * @returns {Promise<void>} rejected where the browser has no room for it
   */
  keep(changes) {
    const at = Date.now();
    for (const [name, text] of changes) {
      this.times.set(name, at);
      if (text === null) this.texts.delete(name);
      else this.texts.set(name, text);
    }
    const { database } = this;
    if (database === null) return this.written;
    const transaction = database.transaction(TEXTS, "readwrite");
    const texts = transaction.objectStore(TEXTS);
    for (const [name, text] of changes) {
      if (text === null) texts.delete(name);
      else texts.put({ text, at }, name);
    }
    const written = new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    this.written = written.catch(() => {});
    return written;
  }
}
