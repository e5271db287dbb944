// The logs of a match as text (`match.log`, `debug.log`): a time, seconds since the log was opened,
// a level and a text. Indented lines belong to the one before. A line of another form is kept as a
// message without a level.

import { Lines } from "./lines.js";

/** @import { Message } from "./types.d.ts" */

export const LEVELS = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

const FORM = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)\s+(\d+(?:\.\d+)?)\s+(ERROR|WARN|INFO|DEBUG|TRACE) (.*)$/;

export class Messages {
  /** @param {string} file */
  constructor(file) {
    /** In the order of the file. @type {Message[]} */
    this.entries = [];
    this.lines = new Lines(file, (line) => this.take(line));
  }

  /** @param {string} line */
  take(line) {
    if (line === "") return null;
    const found = FORM.exec(line);
    const last = this.entries.at(-1);
    if (found !== null) {
      this.entries.push({ time: found[1], at: Number(found[2]), level: found[3], text: found[4] });
    } else if (line.startsWith("    ") && last !== undefined) {
      last.text += `\n${line.slice(4)}`;
    } else {
      this.entries.push({ time: null, at: null, level: null, text: line });
    }
    return null;
  }
}
