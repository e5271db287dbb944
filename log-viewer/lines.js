// Reads text that arrives in pieces, line by line. A line is passed on when its end has arrived;
// the rest waits for more text or for `finish`, which passes it on as a line that may be
// incomplete. The reader reports unusable lines, which are counted here.

/** @typedef {{ line: number, problem: string }} Fault */

export class Lines {
  /**
   * `name` is the file's, for notes. `take(line)` reads one line and returns what is wrong with it,
   * or null.
   * @param {string} name
   * @param {(line: string) => string | null} take
   */
  constructor(name, take) {
    this.name = name;
    this.take = take;
    this.tail = "";
    this.read = 0;
    this.left = 0;
    /** @type {Fault | null} */
    this.first = null;
    /** @type {Fault | null} */
    this.cut = null;
  }

  /**
   * The next piece of the text.
   * @param {string} text
   */
  push(text) {
    const all = this.tail + text;
    let from = 0;
    for (let end = all.indexOf("\n"); end !== -1; end = all.indexOf("\n", from)) {
      this.line(all.slice(from, end), true);
      from = end + 1;
    }
    this.tail = all.slice(from);
  }

  /** There is no more. */
  finish() {
    const tail = this.tail;
    this.tail = "";
    if (tail !== "") this.line(tail, false);
  }

  /**
   * @param {string} raw
   * @param {boolean} isWhole
   */
  line(raw, isWhole) {
    this.read += 1;
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const problem = this.take(line);
    if (problem === null) return;
    const found = { line: this.read, problem };
    if (!isWhole) this.cut = found;
    else {
      this.left += 1;
      this.first ??= found;
    }
  }

  /** Remarks on this file, in sentences. */
  notes() {
    const notes = [];
    if (this.first !== null) {
      const what = this.left === 1 ? "is left out" : `and ${this.left - 1} more are left out`;
      notes.push(`${this.name}: line ${this.first.line} ${what}: ${this.first.problem}`);
    }
    if (this.cut !== null) {
      notes.push(`${this.name}: it stops in line ${this.cut.line}, which is not whole: ${this.cut.problem}`);
    }
    return notes;
  }
}
