// What the browser keeps of Panza's own: texts by name, in a database of the browser (IndexedDB).
// Where the browser has none for this page, as in some private windows, they last as long as the
// page, and the page says so.

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
   */
  constructor(database, texts) {
    /** Null where nothing is kept for longer than this page. */
    this.database = database;
    /** All texts by their names, so that a worker that is started again gets them at once. */
    this.texts = texts;
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
      return new Store(database, new Map(names.map((name, place) => [String(name), String(values[place])])));
    } catch {
      return new Store(null, new Map());
    }
  }

  /**
   * Keeps a text under a name in place of the one before; with null nothing is kept there.
   * @param {[name: string, text: string | null][]} changes
   * @returns {Promise<void>} rejected where the browser has no room for it
   */
  keep(changes) {
    for (const [name, text] of changes) {
      if (text === null) this.texts.delete(name);
      else this.texts.set(name, text);
    }
    const { database } = this;
    if (database === null) return this.written;
    const transaction = database.transaction(TEXTS, "readwrite");
    const texts = transaction.objectStore(TEXTS);
    for (const [name, text] of changes) {
      if (text === null) texts.delete(name);
      else texts.put(text, name);
    }
    const written = new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    this.written = written.catch(() => {});
    return written;
  }
}
