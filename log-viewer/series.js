// The figures of a match, one line per second (`series.csv`). The first line names the columns, and
// columns are found by name, so that logs with other columns open too. Numbers are kept by column;
// the list of root moves, most of the file, is kept as text and parsed on demand.

import { counted, list, number, text } from "./format.js";
import { Lines } from "./lines.js";

/** @import { RootMove } from "./types.d.ts" */

const TEXTS = new Set(["best_move", "root_moves"]);

export class Series {
  constructor() {
    /** @type {string[] | null} */
    this.names = null;
    /** @type {Map<string, (string | number | null)[]>} */
    this.columns = new Map();
    this.length = 0;
    /** @type {RootMove[][]} */
    this.roots = [];
    this.lines = new Lines("series.csv", (line) => this.take(line));
  }

  /** @param {string} line */
  take(line) {
    if (line === "") return null;
    const cells = readCells(line);
    if (cells === null) return "a quote is not closed";
    if (this.names === null) {
      this.names = cells;
      for (const name of cells) this.columns.set(name, []);
      return null;
    }
    if (cells.length !== this.names.length) {
      return `${counted(cells.length, "cell")}, where ${this.names.length} are named`;
    }
    for (const [index, name] of this.names.entries()) {
      const cell = cells[index];
      this.columns.get(name)?.push(TEXTS.has(name) ? cell : cell === "" ? null : number(Number(cell)));
    }
    this.length += 1;
    return null;
  }

  /** @param {string} name */
  has(name) {
    return this.columns.has(name);
  }

  /**
   * The column of a name: a text or a number or null for each line; empty where there is none.
   * @overload
   * @param {"best_move" | "root_moves"} name
   * @returns {string[]}
   */
  /**
   * @overload
   * @param {string} name
   * @returns {(number | null)[]}
   */
  /** @param {string} name */
  column(name) {
    return this.columns.get(name) ?? [];
  }

  /**
   * The names of the columns that begin so.
   * @param {string} beginning
   */
  namesFrom(beginning) {
    return (this.names ?? []).filter((name) => name.startsWith(beginning));
  }

  /**
   * The root moves of a line, most visited first.
   * @param {number} index
   */
  rootMoves(index) {
    this.roots[index] ??= readRoot(this.column("root_moves")[index]);
    return this.roots[index];
  }
}

/** @param {string | undefined} cell */
function readRoot(cell) {
  if (!cell) return [];
  try {
    return rootMoves(JSON.parse(cell));
  } catch {
    return [];
  }
}

/**
 * A list of `[move, visits, value]` as objects, most visited first; what is no such entry is left
 * out.
 * @param {unknown} entries
 * @returns {RootMove[]}
 */
export function rootMoves(entries) {
  return list(entries)
    .flatMap((entry) => {
      const [name, visits, value] = list(entry);
      const move = text(name);
      return move === null ? [] : [{ move, visits: number(visits) ?? 0, value: number(value) }];
    })
    .sort((one, other) => other.visits - one.visits);
}

/**
 * The cells of a line; null where a quoted cell does not end.
 * @param {string} line
 */
export function readCells(line) {
  const cells = [];
  let from = 0;
  for (;;) {
    let end;
    if (line[from] === '"') {
      let close = line.indexOf('"', from + 1);
      while (close !== -1 && line[close + 1] === '"') close = line.indexOf('"', close + 2);
      if (close === -1) return null;
      cells.push(line.slice(from + 1, close).replaceAll('""', '"'));
      end = line.indexOf(",", close);
    } else {
      end = line.indexOf(",", from);
      cells.push(end === -1 ? line.slice(from) : line.slice(from, end));
    }
    if (end === -1) return cells;
    from = end + 1;
  }
}
