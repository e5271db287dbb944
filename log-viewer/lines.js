// Text that comes in pieces, read line by line. A line is handed on once its end is there; what follows the last line
// end waits for more, or for `finish`, which hands it on as a line that may not be whole. The reader of the lines says
// which it could not use, and this keeps count of them, so that every file can say where it stopped.

export class Lines {
  /**
   * `name` is the file's, for notes. `take(line)` reads one line and returns what is wrong with it, or null.
   */
  constructor(name, take) {
    this.name = name;
    this.take = take;
    this.tail = "";
    this.read = 0;
    this.left = 0;
    this.first = null;
    this.cut = null;
  }

  /** The next piece of the text. */
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

  /** What is to be said about this file, in sentences. */
  notes() {
    const notes = [];
    if (this.left > 0) {
      const what = this.left === 1 ? "is left out" : `and ${this.left - 1} more are left out`;
      notes.push(`${this.name}: line ${this.first.line} ${what}: ${this.first.problem}`);
    }
    if (this.cut !== null) {
      notes.push(`${this.name}: it stops in line ${this.cut.line}, which is not whole: ${this.cut.problem}`);
    }
    return notes;
  }
}
